package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// values is a session of a test that keeps values in memory.
type values struct {
	mu     sync.Mutex
	values map[string]schemas.StoreWrite
	err    error // of commits
}

func (v *values) Append(...schemas.SessionEntry) {}

func (v *values) Values() map[string]schemas.StoreWrite {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.values
}

func (v *values) Commit(_ string, writes []schemas.StoreWrite, done func(error)) {
	v.mu.Lock()
	err := v.err
	if err == nil {
		next := maps.Clone(v.values)
		if next == nil {
			next = make(map[string]schemas.StoreWrite)
		}
		for _, w := range writes {
			delete(next, w.Key)
			if len(w.Value) > 0 {
				next[w.Key] = w
			}
		}
		v.values = next
	}
	v.mu.Unlock()
	done(err)
}

// storing is the port of a cell that is bound to the session.
func storing(v *values) *port { return &port{store: newStorage(v, false)} }

func storePayload(key, value string) schemas.JSON {
	name, _ := json.Marshal(key)
	if value == "" {
		return schemas.JSON(fmt.Sprintf(`{"key":%s}`, name))
	}
	return schemas.JSON(fmt.Sprintf(`{"key":%s,"value":%s}`, name, value))
}

// put stores, and fails the test if that is refused.
func put(t testing.TB, p *port, key, value string, tainted bool) {
	t.Helper()
	if got := p.Local("store", storePayload(key, value), tainted); got.Err != nil {
		t.Fatalf("store %q: %v", key, got.Err)
	}
}

// look loads, and gives "" for what isn't there.
func look(t testing.TB, p *port, key string) (value string, untrusted bool) {
	t.Helper()
	got := p.Local("load", storePayload(key, ""), false)
	if got.Err != nil {
		t.Fatalf("load %q: %v", key, got.Err)
	}
	return string(got.Value), got.Untrusted
}

// commit commits and gives the warning.
func commit(t testing.TB, p *port, tainted bool) (warning string) {
	t.Helper()
	called := 0
	p.Commit(tainted, func(w string) { warning = w; called++ })
	if called != 1 {
		t.Errorf("done was called %d times", called)
	}
	return warning
}

func refused(t testing.TB, got cell.Local, name, message string) {
	t.Helper()
	if got.Err == nil || got.Err.Name != name || got.Err.Code != schemas.CallInvalidInput || !strings.Contains(got.Err.Message, message) {
		t.Errorf("got %+v, want a %s with %q", got.Err, name, message)
	}
}

func TestSpec_T2_WritesAreTheCellsOwnUntilItsEnd(t *testing.T) {
	session := &values{}
	one, two := storing(session), storing(session)
	put(t, one, "k", `{"a":1}`, false)
	if got, _ := look(t, one, "k"); got != `{"a":1}` {
		t.Errorf("its own write reads %q", got)
	}
	if got, _ := look(t, two, "k"); got != "" {
		t.Errorf("another cell reads %q before the commit", got)
	}
	if !one.Unsaved() || two.Unsaved() {
		t.Error("who has something to commit")
	}
	if warning := commit(t, one, false); warning != "" {
		t.Error(warning)
	}
	if got, _ := look(t, two, "k"); got != `{"a":1}` {
		t.Errorf("another cell reads %q after the commit", got)
	}
	if one.Unsaved() {
		t.Error("what is committed is still unsaved")
	}
}

func TestSpec_T1_UndefinedDeletes(t *testing.T) {
	session := &values{}
	p := storing(session)
	put(t, p, "a", `1`, false)
	put(t, p, "b", `null`, false)
	commit(t, p, false)
	next := storing(session)
	put(t, next, "a", "", false)
	put(t, next, "never", "", false)
	for key, want := range map[string]string{"a": "", "b": "null", "never": ""} {
		if got, _ := look(t, next, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	commit(t, next, false)
	if len(session.values) != 1 || string(session.values["b"].Value) != "null" {
		t.Errorf("the session has %v", session.values)
	}
}

func TestSpec_T2_WhatCanNotBeKeptIsAWarning(t *testing.T) {
	session := &values{err: errors.New("the disk is full: make room")}
	p := storing(session)
	put(t, p, "k", `1`, false)
	if got, want := commit(t, p, false), "completed, but what the program stored was not kept: the disk is full: make room"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(session.Values()) != 0 {
		t.Error("the values changed")
	}
}

func TestSpec_T1_SizesAreBounded(t *testing.T) {
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	session := &values{}
	p := storing(session)
	put(t, p, "k", text(schemas.MaxStoreValue), false)
	refused(t, p.Local("store", storePayload("k", text(schemas.MaxStoreValue+1)), false), "RangeError", "262145 bytes")
	refused(t, p.Local("store", storePayload("l", `"`+strings.Repeat("é", schemas.MaxStoreValue/2)+`"`), false), "RangeError", "262146 bytes")
	for i, less := range []int{1, 1, 2} { // 1 MiB to the byte, with the keys
		put(t, p, fmt.Sprint(i), text(schemas.MaxStoreValue-less), false)
	}
	refused(t, p.Local("store", storePayload("x", `0`), false), "RangeError", "1048578 bytes of keys and values")
	if got, _ := look(t, p, "x"); got != "" {
		t.Errorf("what was refused is there: %q", got)
	}
	if got, _ := look(t, p, "k"); got != text(schemas.MaxStoreValue) {
		t.Error("what was refused has changed another value")
	}
	put(t, p, "k", text(100), false)
	put(t, p, "x", `0`, false)
	put(t, p, "k", "", false)
	if warning := commit(t, p, false); warning != "" {
		t.Error(warning)
	}
}

// Another cell may have filled the session meanwhile: the total counts what is committed at the moment.
func TestSpec_T1_TheTotalCountsWhatOthersCommit(t *testing.T) {
	session := &values{}
	big := `"` + strings.Repeat("x", schemas.MaxStoreValue-100) + `"`
	p, other := storing(session), storing(session)
	put(t, p, "mine", big, false)
	for i := range 4 {
		put(t, other, fmt.Sprint(i), big, false)
	}
	commit(t, other, false)
	refused(t, p.Local("store", storePayload("another", `1`), false), "RangeError", "delete what is not needed")
	put(t, p, "0", "", false) // less is always possible
	put(t, p, "another", `1`, false)
}

func TestSpec_T3_StoreIsUnavailableWithoutASession(t *testing.T) {
	for name, c := range map[string]struct {
		port *port
		want string
	}{
		"unbound":      {&port{}, "this run has no session"},
		"not opened":   {&port{sessionErr: errors.New("no disk")}, "the session can't be opened: no disk"},
		"restart-safe": {&port{restartSafe: true}, "without restartSafe"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"store", "load"} {
				refused(t, c.port.Local(kind, storePayload("k", `1`), false), "Error", kind+" is unavailable: ")
				refused(t, c.port.Local(kind, storePayload("k", `1`), false), "Error", c.want)
			}
			if c.port.Unsaved() {
				t.Error("there is something to commit")
			}
			if warning := commit(t, c.port, false); warning != "" {
				t.Error(warning)
			}
		})
	}
}

func TestSpec_T2_ADryRunReadsAndKeepsNothing(t *testing.T) {
	session := &values{values: map[string]schemas.StoreWrite{"k": {Key: "k", Value: schemas.JSON(`1`)}}}
	p := &port{store: newStorage(session, true)}
	put(t, p, "l", `2`, false)
	for key, want := range map[string]string{"k": "1", "l": "2"} {
		if got, _ := look(t, p, key); got != want {
			t.Errorf("%s is %q", key, got)
		}
	}
	if warning := commit(t, p, false); !strings.HasPrefix(warning, "dry run: ") || len(session.values) != 1 {
		t.Errorf("warning %q, values %v", warning, session.values)
	}
}

func TestSpec_O5_StoredValuesStayUntrusted(t *testing.T) {
	session := &values{}
	p := storing(session)
	put(t, p, "clean", `1`, false)
	put(t, p, "web", `2`, true)
	for key, want := range map[string]bool{"clean": false, "web": true, "none": false} {
		if _, got := look(t, p, key); got != want {
			t.Errorf("its own %s is untrusted: %v", key, got)
		}
	}
	commit(t, p, false)
	for key, want := range map[string]bool{"clean": false, "web": true} {
		if _, got := look(t, storing(session), key); got != want {
			t.Errorf("the committed %s is untrusted: %v", key, got)
		}
	}
	late := storing(session)
	put(t, late, "late", `3`, false)
	commit(t, late, true)
	if _, got := look(t, storing(session), "late"); !got {
		t.Error("a program that met untrusted data before its end has stored a trusted value")
	}
	clean := storing(session)
	put(t, clean, "web", `4`, false)
	commit(t, clean, false)
	if _, got := look(t, storing(session), "web"); got {
		t.Error("a mark outlives the value")
	}
}

func TestSpec_B4_HostileStoreRequests(t *testing.T) {
	p := storing(&values{})
	for _, kind := range []string{"store", "load"} {
		for _, payload := range []string{
			``, `null`, `[]`, `{}`, `{"key":""}`, `{"key":7}`, `{"key":null}`, `{"key":"a"`, `{"key":"` + strings.Repeat("k", 257) + `","value":1}`,
			`{"value":1}`, strings.Repeat("[", 20_000), `{"key":"k","value":` + strings.Repeat("[", 20_000) + `}`,
		} {
			refused(t, p.Local(kind, schemas.JSON(payload), false), "TypeError", "")
		}
	}
	if p.Unsaved() {
		t.Error("something was stored")
	}
	put(t, p, "k", "\"a\xff\"", false)
	if got, _ := look(t, p, "k"); got != `"a`+"\ufffd"+`"` {
		t.Errorf("invalid UTF-8 reads %q", got)
	}
	for _, key := range []string{"__proto__", "constructor", " ", "\u2028", strings.Repeat("😀", 128)} {
		put(t, p, key, `{"__proto__":1}`, false)
		if got, _ := look(t, p, key); got != `{"__proto__":1}` {
			t.Errorf("%q reads %q", key, got)
		}
	}
}

func TestSpec_T1_ManyKeys(t *testing.T) {
	p := storing(&values{})
	for i := range 10_000 {
		put(t, p, fmt.Sprint("key ", i), `1`, false)
	}
	commit(t, p, false)
	for i := range 10_000 {
		if got, _ := look(t, p, fmt.Sprint("key ", i)); got != "1" {
			t.Fatalf("key %d reads %q", i, got)
		}
	}
}

// A program that deletes what isn't there fills no memory with it.
func TestSpec_B4_DeletingNothingKeepsNothing(t *testing.T) {
	p := storing(&values{})
	put(t, p, "kept", `1`, false)
	for i := range 1000 {
		put(t, p, fmt.Sprint(i), `1`, false)
		put(t, p, fmt.Sprint(i), "", false)
		put(t, p, fmt.Sprint("never ", i), "", false)
	}
	if n := len(p.store.writes); n != 1 {
		t.Errorf("%d writes are kept", n)
	}
}

// Any mixture of stores, loads, commits and losses of two cells comes to what plain maps say.
func TestSpec_T2_AnyOrderAgreesWithPlainMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session := &values{}
		committed := map[string]string{}
		ports := make([]*port, 2)
		own := make([]map[string]string, 2)
		begin := func(i int) { ports[i], own[i] = storing(session), map[string]string{} }
		begin(0)
		begin(1)
		view := func(i int) map[string]string {
			seen := maps.Clone(committed)
			maps.Copy(seen, own[i])
			maps.DeleteFunc(seen, func(_, v string) bool { return v == "" })
			return seen
		}
		key := rapid.SampledFrom([]string{"a", "b", "c"})
		length := rapid.SampledFrom([]int{0, 3, 1000, 200_000, schemas.MaxStoreValue, schemas.MaxStoreValue + 1})
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "cell")
			k := key.Draw(t, "key")
			switch rapid.SampledFrom([]string{"store", "store", "load", "commit", "lose", "fill"}).Draw(t, "step") {
			case "store":
				value := ""
				if n := length.Draw(t, "bytes"); n > 0 {
					value = strings.Repeat("7", n)
				}
				bytes := func(seen map[string]string) (n int) {
					for k, v := range seen {
						if v != "" {
							n += len(k) + len(v)
						}
					}
					return n
				}
				before, after := view(i), view(i)
				after[k] = value
				fits := len(value) <= schemas.MaxStoreValue && (bytes(after) <= schemas.MaxStoreBytes || bytes(after) <= bytes(before))
				if got := ports[i].Local("store", storePayload(k, value), false); (got.Err == nil) != fits {
					t.Fatalf("store of %d bytes beside %d: %v", len(value), bytes(before), got.Err)
				}
				if _, there := committed[k]; fits && value == "" && !there {
					delete(own[i], k)
				} else if fits {
					own[i][k] = value
				}
			case "fill":
				v := fmt.Sprint("fill", rapid.IntRange(0, 3).Draw(t, "which"))
				value := strings.Repeat("7", schemas.MaxStoreValue)
				if ports[i].Local("store", storePayload(v, value), false).Err == nil {
					own[i][v] = value
				}
			case "load":
				got := ports[i].Local("load", storePayload(k, ""), false)
				if got.Err != nil || string(got.Value) != view(i)[k] {
					t.Fatalf("load gives %d bytes, want %d", len(got.Value), len(view(i)[k]))
				}
			case "commit":
				if changes := !maps.Equal(view(i), committed); changes && !ports[i].Unsaved() {
					t.Fatal("there is something to commit")
				}
				ports[i].Commit(false, func(string) {})
				maps.Copy(committed, own[i])
				maps.DeleteFunc(committed, func(_, v string) bool { return v == "" })
				begin(i)
			case "lose":
				begin(i)
			}
		}
	})
}
