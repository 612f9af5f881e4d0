package schemas_test

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_L1_Input(t *testing.T) {
	for text, want := range map[string]schemas.ExecInput{
		`{"code":"return 1"}`:                   {Title: "return 1", Code: "return 1"},
		`{"code":"\n  // Count.\nreturn 1"}`:    {Title: "// Count.", Code: "\n  // Count.\nreturn 1"},
		`{"code":"return 1","title":" a\n b "}`: {Title: "a b", Code: "return 1"},
		`{"code":"return 1","title":null}`:      {Title: "return 1", Code: "return 1"},
		"{\"code\":\"```js\\nreturn 1\\n```\"}": {Title: "return 1", Code: "\nreturn 1\n"},
		`{"title":" ","code":"return 2"}`:       {Title: "return 2", Code: "return 2"},
	} {
		got, err := schemas.ParseToolSearchCodeInput(schemas.JSON(text))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string][2]string{
		``:                       {"", "JSON"},
		`[]`:                     {"", "a JSON object"},
		`{}`:                     {"code", "give the JavaScript program"},
		`{"code":" "}`:           {"code", "give the JavaScript program"},
		`{"code":3}`:             {"code", "expected a string, got a number"},
		`{"code":"x","title":3}`: {"title", "expected a string"},
		`{"code":"x","title":"` + strings.Repeat("t", 121) + `"}`:        {"title", "at most 120 characters, got 121"},
		`{"code":"x","cod":"y"}`:                                         {"cod", `did you mean "code"?`},
		`{"command":"x"}`:                                                {"command", "there is no such field: remove it (there are: code, title)"},
		`{"code":"x","language":"typescript"}`:                           {"language", "plain JavaScript"},
		`{"code":"x","typecheck":true}`:                                  {"typecheck", "plain JavaScript"},
		`{"code":"x","awaitResults":true}`:                               {"awaitResults", "always waited for"},
		`{"code":"x","restartSafe":false}`:                               {"restartSafe", "remove this field"},
		`{"code":"` + strings.Repeat("x", schemas.MaxCodeBytes+1) + `"}`: {"code", "at most 524288 bytes"},
	} {
		_, err := schemas.ParseToolSearchCodeInput(schemas.JSON(text))
		refuse(t, err, text[:min(len(text), 80)], want[0], want[1])
	}
}

// What hooks see of such a program reads back as it was.
func TestSpec_L1_X1_HooksReadWhatWasGiven(t *testing.T) {
	in, err := schemas.ParseToolSearchCodeInput(schemas.JSON(`{"code":"return 1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := in.Rewritten(in.JSON()); err != nil || again != in {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestSpec_L1_A7_InputSchema(t *testing.T) {
	s := schemas.MustCompile(schemas.ToolSearchCodeInputSchema())
	for text, fits := range map[string]bool{
		`{"code":"return 1"}`: true, `{"code":"x","title":"t"}`: true,
		`{"title":"t"}`: false, `{"code":""}`: false, `{"code":"x","language":"js"}`: false, `{"code":1}`: false,
	} {
		if got := len(s.Validate(schemas.JSON(text))) == 0; got != fits {
			t.Errorf("%s: fits %v", text, got)
		}
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		if strings.Contains(string(schemas.ToolSearchCodeInputSchema()), word) {
			t.Errorf("the schema isn't flat: it has %s", word)
		}
	}
}
