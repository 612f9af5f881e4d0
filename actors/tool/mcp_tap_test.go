package tool

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// M2: the first answer to a request counts, as it does for the SDK.
func TestSpec_M2_SecondAnswersAreIgnored(t *testing.T) {
	message := func(text string) jsonrpc.Message {
		m, err := jsonrpc.DecodeMessage([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, two := `{"jsonrpc":"2.0","id":1,"result":{"n":1}}`, `{"jsonrpc":"2.0","id":1,"result":{"n":2}}`
	fault := `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`
	for _, c := range []struct {
		answers []string
		result  string
		refused bool
	}{
		{[]string{one, two}, `{"n":1}`, false},
		{[]string{one, fault}, `{"n":1}`, false},
		{[]string{fault, two}, "", true},
	} {
		var wire tap
		r := new(reply)
		wire.outgoing(wire.expect(t.Context(), r), message(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
		for _, answer := range c.answers {
			wire.incoming(message(answer))
		}
		if got := string(wire.taken(r)); got != c.result || wire.refusal(r) != c.refused {
			t.Errorf("%q: result %q, refused %v", c.answers, got, wire.refusal(r))
		}
	}
}
