package bustest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/schemas"
)

// longest is the longest value that is shown whole, in bytes.
const longest = 2000

// volatile fields differ from run to run.
var volatile = map[string]bool{
	"at": true, "duration_us": true, "age_ms": true, "snapshot_bytes": true, "idempotency_key": true, "trace_parent": true, "counter_scope": true,
}

// kinds are the fields that hold ids, and the word that numbers them.
var kinds = map[string]string{"host": "host", "run": "run", "cell": "cell", "executor": "executor", "run_id": "cell"}

// names numbers ids in the order of their appearance.
type names struct {
	given    map[string]string
	count    map[string]int
	barriers map[string]chan struct{}
}

func newNames() names {
	return names{given: map[string]string{}, count: map[string]int{}, barriers: map[string]chan struct{}{}}
}

// token gives the name of an id that stands in a place of a kind; other tokens stay.
func (n *names) token(kind, id string) string {
	word, ok := kinds[kind]
	if !ok || id == "" {
		return id
	}
	if _, ok := n.given[id]; !ok {
		n.count[word]++
		n.given[id] = word + strconv.Itoa(n.count[word])
	}
	return n.given[id]
}

// known replaces ids that were seen before within a text, such as "<cell>.<call>".
func (n *names) known(text string) string {
	for _, id := range slices.SortedFunc(maps.Keys(n.given), func(a, b string) int { return len(b) - len(a) }) {
		if len(id) >= 10 {
			text = strings.ReplaceAll(text, id, n.given[id])
		}
	}
	return text
}

func (n *names) render(v any) string {
	var b strings.Builder
	n.write(&b, "", reflect.ValueOf(v))
	return b.String()
}

func (n *names) write(b *strings.Builder, field string, v reflect.Value) {
	if volatile[field] {
		b.WriteString("*")
		return
	}
	switch x := v.Interface().(type) {
	case schemas.JSON:
		b.WriteString(short(n.known(string(x))))
		return
	case schemas.Identity: // the caller's own words, whose run is no id of ours
		fmt.Fprintf(b, "%q", strings.TrimRight(strings.Join([]string{x.Agent, x.SessionID, x.SessionKey, x.Run, x.Sender, x.Channel, x.Sandbox}, "/"), "/"))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		n.write(b, field, v.Elem())
	case reflect.Struct:
		n.writeStruct(b, v)
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(" ")
			}
			n.write(b, field, v.Index(i))
		}
		b.WriteString("]")
	case reflect.String:
		b.WriteString(strconv.Quote(short(n.known(n.token(field, v.String())))))
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func (n *names) writeStruct(b *strings.Builder, v reflect.Value) {
	b.WriteString("{")
	first := true
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("msgpack"), ",")
		if !first {
			b.WriteString(" ")
		}
		first = false
		b.WriteString(name + ":")
		n.write(b, name, v.Field(i))
	}
	b.WriteString("}")
}

func short(s string) string {
	if len(s) <= longest {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:longest], len(s))
}

func typeName(v any) string { return reflect.TypeOf(v).Elem().Name() }

func keys(h nats.Header) []string { return slices.Sorted(maps.Keys(h)) }
