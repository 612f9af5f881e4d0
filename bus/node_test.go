package bus_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// aNode is a node that a test keeps on the bus.
type aNode struct {
	t        *testing.T
	key      *bus.NodeKey
	presence *bus.NodePresence
	standing chan bus.NodeStanding
	lost     bool // its connection is: it can't say good-bye
}

func newNodeKey(t *testing.T) *bus.NodeKey {
	t.Helper()
	key, err := bus.LoadNodeKey(filepath.Join(t.TempDir(), "keys", "node.key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func announce(t *testing.T, conn *bus.Conn, key *bus.NodeKey, name string, commands ...string) *aNode {
	t.Helper()
	n := &aNode{t: t, key: key, standing: make(chan bus.NodeStanding, 100)}
	node := schemas.Node{Name: name, Platform: "linux/amd64"}
	for _, c := range commands {
		node.Commands = append(node.Commands, schemas.NodeCommand{Name: c})
	}
	var err error
	if n.presence, err = bus.AnnounceNode(t.Context(), conn, key, node, func(s bus.NodeStanding) { n.standing <- s }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	return n
}

func (n *aNode) close() {
	if n.presence != nil {
		if err := n.presence.Close(context.Background()); err != nil && !n.lost {
			n.t.Error(err)
		}
		n.presence = nil
	}
}

// stands waits until the node is told of a state.
func (n *aNode) stands(want bus.NodeState) bus.NodeStanding {
	n.t.Helper()
	select {
	case s := <-n.standing:
		if s.State != want {
			n.t.Fatalf("the node is %s, want %s", s.State, want)
		}
		return s
	case <-time.After(20 * time.Second): // real: only a failing test waits so long
		n.t.Fatalf("the node isn't told that it is %s", want)
	}
	return bus.NodeStanding{}
}

// pair approves the node by the code that it shows.
func (n *aNode) pair(book *bus.NodeBook) {
	n.t.Helper()
	if _, err := book.Approve(n.t.Context(), n.stands(bus.NodePending).Code, "ada"); err != nil {
		n.t.Fatal(err)
	}
	n.stands(bus.NodePaired)
}

func states(t *testing.T, book *bus.NodeBook) string {
	t.Helper()
	list, err := book.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range list {
		text := n.Name + " " + string(n.State)
		if n.Connected {
			text += " connected"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func wantField(t *testing.T, err error, field, text string) {
	t.Helper()
	e, ok := errors.AsType[*schemas.Error](err)
	if !ok || e.Field != field || !strings.Contains(e.Message, text) {
		t.Errorf("%v, want a refusal of %s that says %q", err, field, text)
	}
}

// A code pairs the node that shows it, once; the node is told at once, and is what it was called then.
func TestSpec_N2_PairingByCode(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	one, other := announce(t, conn, newNodeKey(t), "mac", "a.b"), announce(t, conn, newNodeKey(t), "pc")
	code, others := one.stands(bus.NodePending), other.stands(bus.NodePending)
	if got := states(t, book); got != "mac pending connected, pc pending connected" {
		t.Error(got)
	}
	if paired, err := book.Paired(t.Context()); err != nil || len(paired) > 0 {
		t.Errorf("%v %v", paired, err)
	}
	for typed, text := range map[string]string{"": "expected the pairing code", "abcd": "expected the pairing code", "1111-1111": "expected the pairing code", "aaaa-aaaa": "no node shows"} {
		_, err := book.Approve(t.Context(), typed, "")
		wantField(t, err, "code", text)
	}
	record, err := book.Approve(t.Context(), " "+strings.ToUpper(code.Code), "ada")
	if err != nil || record.ID != one.key.ID() || record.Name != "mac" || record.By != "ada" {
		t.Fatalf("%+v %v", record, err)
	}
	one.stands(bus.NodePaired)
	if got := states(t, book); got != "mac paired connected, pc pending connected" {
		t.Error(got)
	}
	_, err = book.Approve(t.Context(), code.Code, "ada")
	wantField(t, err, "code", "no node shows")
	paired, err := book.Paired(t.Context())
	if err != nil || len(paired) != 1 || paired[0].ID != one.key.ID() || len(paired[0].Commands) != 1 || paired[0].Commands[0].Name != "a.b" {
		t.Errorf("%+v %v", paired, err)
	}
	if _, err := book.Approve(t.Context(), others.Code, "ada"); err != nil {
		t.Error(err)
	}
	one.close()
	if got := states(t, book); got != "mac paired, pc paired connected" {
		t.Error(got)
	}
	again := announce(t, conn, one.key, "another-name")
	again.stands(bus.NodePaired)
	if got := states(t, book); got != "mac paired connected, pc paired connected" {
		t.Errorf("a node can take another's name: %s", got)
	}
}

// Revoking and forgetting a node reach it, and both are asked for by its id.
func TestSpec_N2_RevokeAndRemove(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	n := announce(t, conn, newNodeKey(t), "mac")
	n.pair(book)
	wantField(t, book.Revoke(t.Context(), "mac", "bob"), "node", "no node with the id")
	wantField(t, book.Remove(t.Context(), "../x"), "node", "no node with the id")
	for range 2 {
		if err := book.Revoke(t.Context(), n.key.ID(), "bob"); err != nil {
			t.Fatal(err)
		}
	}
	n.stands(bus.NodeRevoked)
	// It withdraws itself once it has heard that.
	for end := time.Now().Add(20 * time.Second); states(t, book) != "mac revoked" && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // real: the node takes its own time
	}
	if got := states(t, book); got != "mac revoked" {
		t.Error(got)
	}
	n.close()
	_, err := bus.AnnounceNode(t.Context(), conn, n.key, schemas.Node{Name: "mac"}, func(bus.NodeStanding) {})
	wantField(t, err, "node", "was revoked")
	if err := book.Remove(t.Context(), n.key.ID()); err != nil {
		t.Fatal(err)
	}
	again := announce(t, conn, n.key, "mac")
	again.pair(book)
	if err := book.Remove(t.Context(), n.key.ID()); err != nil {
		t.Fatal(err)
	}
	again.pair(book) // it asks again, with a new code
}

func TestSpec_N1_OneProcessANode(t *testing.T) {
	conn := bustest.Conn(t)
	n := announce(t, conn, newNodeKey(t), "mac")
	_, err := bus.AnnounceNode(t.Context(), conn, n.key, schemas.Node{Name: "mac"}, func(bus.NodeStanding) {})
	wantField(t, err, "node", "connected already")
	for name, node := range map[string]schemas.Node{
		"name":     {Name: "not a name"},
		"command":  {Name: "mac", Commands: []schemas.NodeCommand{{Name: "system.run"}}},
		"commands": {Name: "mac", Commands: []schemas.NodeCommand{{Name: "a"}, {Name: "a"}}},
		"params":   {Name: "mac", Commands: []schemas.NodeCommand{{Name: "a", Params: schemas.JSON(`[1]`)}}},
		"platform": {Name: "mac", Platform: strings.Repeat("x", 65)},
	} {
		_, err := bus.AnnounceNode(t.Context(), conn, newNodeKey(t), node, func(bus.NodeStanding) {})
		wantField(t, err, name, name)
	}
}

// What others write in a node's name is nobody's word: another key's, a changed one, a repetition.
func TestSpec_N2_ForgedAnnouncements(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	n := announce(t, conn, newNodeKey(t), "mac", "a.b")
	n.pair(book)
	kv, err := conn.JetStream().KeyValue(t.Context(), "codecell_nodes")
	if err != nil {
		t.Fatal(err)
	}
	id := n.key.ID()
	e, err := kv.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	honest := e.Value()
	n.close() // so that no heartbeat writes over what follows
	put := func(value []byte) {
		t.Helper()
		if _, err := kv.Put(t.Context(), id, value); err != nil {
			t.Fatal(err)
		}
	}
	put(honest)
	if got := states(t, book); got != "mac paired connected" {
		t.Fatal(got)
	}
	var sealed schemas.Sealed
	if err := schemas.Decode(honest, &sealed); err != nil {
		t.Fatal(err)
	}
	encode := func(v any) []byte {
		t.Helper()
		b, err := schemas.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var said schemas.Node
	if err := schemas.Decode(sealed.Body, &said); err != nil {
		t.Fatal(err)
	}
	more := said
	more.Commands = append(more.Commands, schemas.NodeCommand{Name: "c.d"})
	answer, err := n.key.Answer(&schemas.NodeOutcome{})
	if err != nil {
		t.Fatal(err)
	}
	stranger := announce(t, conn, newNodeKey(t), "pc")
	foreign, err := kv.Get(t.Context(), stranger.key.ID())
	if err != nil {
		t.Fatal(err)
	}
	for what, value := range map[string][]byte{
		"changed commands": encode(&schemas.Sealed{Body: encode(&more), Signature: sealed.Signature}),
		"no signature":     encode(&schemas.Sealed{Body: sealed.Body}),
		"another's word":   foreign.Value(),
		"another purpose":  encode(answer),
		"nothing":          {},
		"garbage":          []byte("\xdd\xff\xff\xff\xff"),
	} {
		put(value)
		if list, err := book.Paired(t.Context()); err != nil || len(list) != 1 || list[0].Connected || len(list[0].Commands) > 0 {
			t.Errorf("%s passes: %+v %v", what, list, err)
		}
	}
	if _, err := kv.Put(t.Context(), "not-a-key", honest); err != nil {
		t.Fatal(err)
	}
	if got := states(t, book); !strings.HasSuffix(got, "pc pending connected") || strings.Count(got, "connected") != 1 {
		t.Error(got)
	}
	// A repetition is refused once something newer was heard.
	again := announce(t, conn, n.key, "mac")
	again.stands(bus.NodePaired)
	if list, err := book.Paired(t.Context()); err != nil || !list[0].Connected || len(list[0].Commands) > 0 {
		t.Fatalf("%+v %v", list, err)
	}
	again.close()
	put(honest)
	if list, err := book.Paired(t.Context()); err != nil || list[0].Connected {
		t.Errorf("an old word passes: %+v %v", list, err)
	}
	if conn.Stats().Malformed == 0 {
		t.Error("forgeries weren't counted")
	}
	announce(t, conn, n.key, "mac").stands(bus.NodePaired)
	if list, err := book.Paired(t.Context()); err != nil || !list[0].Connected {
		t.Errorf("the node's own word doesn't mend it: %+v %v", list, err)
	}
}

func TestNodeKey_File(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "node.key")
	key, err := bus.LoadNodeKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bus.LoadNodeKey(path)
	if err != nil || again.ID() != key.ID() || len(key.ID()) != 56 || key.ID()[0] != 'U' {
		t.Errorf("%s, then %s: %v", key.ID(), again.ID(), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.LoadNodeKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	for _, text := range []string{"", "hello", "SAAPN4W3EG6KCJGUQTKTJ5GSB5NHK5CHAJL4DBGFUM3HHROI4XUEP4OBK4"} {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bus.LoadNodeKey(bad); err == nil {
			t.Errorf("%q passes for a key", text)
		}
	}
	if _, err := bus.LoadNodeKey(dir); err == nil {
		t.Error("a folder passes for a key")
	}
}

func TestSpec_N1_PickNode(t *testing.T) {
	list := []bus.NodeInfo{{ID: "UA", Name: "mac"}, {ID: "UB", Name: "mac"}, {ID: "UC", Name: "UA"}, {ID: "UD", Name: "pc"}}
	for ask, want := range map[string]string{"UA": "UA", "UC": "UC", "pc": "UD"} { // an exact id comes before a name
		if n, err := bus.PickNode(list, ask); err != nil || n.ID != want {
			t.Errorf("%s: %v %v", ask, n, err)
		}
	}
	_, err := bus.PickNode(list, "mac")
	wantField(t, err, "node", "2 nodes are named")
	_, err = bus.PickNode(list, "tv")
	wantField(t, err, "node", "there is no node")
}
