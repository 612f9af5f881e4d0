package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// entryText is an entry as it is kept.
func entryText(t testing.TB, e *schemas.SessionEntry) schemas.JSON {
	t.Helper()
	text, err := encodeEntry(e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func message(id, parent, says string) schemas.SessionEntry {
	return schemas.SessionEntry{ID: id, Parent: parent, At: 1, Kind: schemas.EntryMessage, Message: &schemas.MessageEntry{
		Role: "user", Content: schemas.JSON(fmt.Sprintf("%q", says)),
	}}
}

func stored(id, parent string, part schemas.StoreEntry) schemas.SessionEntry {
	return schemas.SessionEntry{ID: id, Parent: parent, At: 1, Kind: schemas.EntryStore, Store: &part}
}

func write(key, value string) schemas.StoreWrite {
	return schemas.StoreWrite{Key: key, Value: schemas.JSON(value)}
}

// add puts entries into a tree as one message does.
func add(t testing.TB, tree *Tree, entries ...schemas.SessionEntry) {
	t.Helper()
	batch := &schemas.SessionBatch{Key: tree.key}
	for i := range entries {
		batch.Entries = append(batch.Entries, entryText(t, &entries[i]))
	}
	tree.Add(batch)
}

// forest gives trees by their keys.
func forest(trees ...*Tree) load {
	return func(_ context.Context, key string) (*Tree, error) {
		for _, tree := range trees {
			if tree.key == key {
				return tree, nil
			}
		}
		return NewTree(key), nil
	}
}

func entryIDs(entries []schemas.SessionEntry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return strings.Join(out, " ")
}

func plain(values map[string]schemas.StoreWrite) map[string]string {
	out := map[string]string{}
	for k, w := range values {
		out[k] = string(w.Value)
	}
	return out
}

// refuses wants an error that names a field.
func refuses(t testing.TB, err error, field string) {
	t.Helper()
	if refused, ok := errors.AsType[*schemas.Error](err); !ok || refused.Field != field || refused.Code != schemas.InvalidInput {
		t.Errorf("got %v, want a refusal that names %q", err, field)
	}
}

func TestSpec_T3_BranchesAreSeparatePaths(t *testing.T) {
	a := NewTree("a")
	add(t, a, message("m1", "", "hello"), stored("s1", "m1", schemas.StoreEntry{Commit: "c1", Part: 1, Parts: 1, Writes: []schemas.StoreWrite{write("k", "1")}}))
	add(t, a, message("m2", "", "one way"), stored("s2", "m2", schemas.StoreEntry{Commit: "c2", Part: 1, Parts: 1, Writes: []schemas.StoreWrite{write("k", "2"), write("left", "true")}}))
	add(t, a, message("m3", "s1", "another way"))
	b := NewTree("b")
	add(t, b, schemas.SessionEntry{ID: "f", Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: "a", Entry: "s2"}}, message("m4", "f", "a fork"))
	c := NewTree("c") // forked at an entry that b has inherited
	add(t, c, schemas.SessionEntry{ID: "g", Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: "b", Entry: "m1"}})
	trees := forest(a, b, c)
	for _, want := range []struct {
		key, entry, path string
		inherited        int
		values           map[string]string
	}{
		{"a", "", "m1 s1 m3", 0, map[string]string{"k": "1"}},
		{"a", "s2", "m1 s1 m2 s2", 0, map[string]string{"k": "2", "left": "true"}},
		{"b", "", "m1 s1 m2 s2 f m4", 4, map[string]string{"k": "2", "left": "true"}},
		{"b", "f", "m1 s1 m2 s2 f", 4, map[string]string{"k": "2", "left": "true"}},
		{"b", "s1", "m1 s1", 2, map[string]string{"k": "1"}},
		{"c", "", "m1 g", 1, map[string]string{}},
	} {
		got, err := resolve(t.Context(), trees, want.key, want.entry)
		if err != nil {
			t.Fatalf("%s %s: %v", want.key, want.entry, err)
		}
		if entryIDs(got.Entries) != want.path || got.Inherited != want.inherited || !maps.Equal(plain(got.Values), want.values) {
			t.Errorf("%s at %q: %s (%d inherited) %v, want %+v", want.key, want.entry, entryIDs(got.Entries), got.Inherited, plain(got.Values), want)
		}
	}
	for _, bad := range []struct{ key, entry, field string }{{"nobody", "", "key"}, {"a", "nothing", "entry"}, {"b", "m3", "entry"}} {
		_, err := resolve(t.Context(), trees, bad.key, bad.entry)
		refuses(t, err, bad.field)
	}
}

func TestSpec_T2_CommitsInPartsCountWhenWhole(t *testing.T) {
	part := func(id string, n int, key string) schemas.SessionEntry {
		return stored(id, "", schemas.StoreEntry{Commit: "c", Part: n, Parts: 3, Writes: []schemas.StoreWrite{write(key, "1")}})
	}
	tree := NewTree("a")
	add(t, tree, part("p1", 1, "a"), message("m", "", "between"), part("p3", 3, "c"), part("p3again", 3, "x"))
	got, err := resolve(t.Context(), forest(tree), "a", "")
	if err != nil || len(got.Values) != 0 {
		t.Fatalf("two of three parts count: %v (%v)", plain(got.Values), err)
	}
	add(t, tree, part("p2", 2, "b"))
	got, err = resolve(t.Context(), forest(tree), "a", "")
	if err != nil || !maps.Equal(plain(got.Values), map[string]string{"a": "1", "b": "1", "c": "1"}) {
		t.Fatalf("the whole commit: %v (%v)", plain(got.Values), err)
	}
	// On another branch there are two parts only.
	add(t, tree, message("n", "m", "aside"), part("q2", 2, "b"))
	got, err = resolve(t.Context(), forest(tree), "a", "")
	if err != nil || len(got.Values) != 0 {
		t.Fatalf("parts of two branches count together: %v (%v)", plain(got.Values), err)
	}
}

func TestSpec_T3_CompactionKeepsValues(t *testing.T) {
	tree := NewTree("a")
	compact := func(id, keep string) schemas.SessionEntry {
		return schemas.SessionEntry{ID: id, Kind: schemas.EntryCompact, Compact: &schemas.CompactEntry{Summary: id, Keep: keep}}
	}
	add(t, tree, message("1", "", ""), stored("2", "", schemas.StoreEntry{Commit: "c", Part: 1, Parts: 1, Writes: []schemas.StoreWrite{write("k", "1")}}),
		message("3", "", ""), message("4", "", ""))
	for _, step := range []struct {
		add  schemas.SessionEntry
		view string
	}{
		{compact("c1", "3"), "c1 3 4"},
		{message("5", "", ""), "c1 3 4 5"},
		{compact("c2", "4"), "c2 4 5"},
		{compact("c3", "nothing"), "c2 4 5 c3"}, // hides nothing
		{compact("c4", ""), "c4"},
		{message("6", "", ""), "c4 6"},
	} {
		add(t, tree, step.add)
		b, err := resolve(t.Context(), forest(tree), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := entryIDs(b.View()); got != step.view {
			t.Errorf("after %s the view is %s, want %s", step.add.ID, got, step.view)
		}
		if plain(b.Values)["k"] != "1" {
			t.Errorf("after %s the values are %v", step.add.ID, plain(b.Values))
		}
	}
}

func TestSpec_B4_TreeOfHostileEntries(t *testing.T) {
	tree := NewTree("a")
	add(t, tree, message("m1", "", "first"))
	for _, text := range []string{
		``, `{`, `null`, `[]`, `{"id":""}`, `{"id":"x","kind":"store"}`, `{"id":"x","kind":"exec","exec":null}`,
		`{"id":"x","kind":"store","store":{"part":0,"parts":1}}`, `{"id":"x","kind":"store","store":{"part":1,"parts":1000000000}}`,
		`{"id":"m1","kind":"message","message":{}}`, `{"id":"` + strings.Repeat("x", 65) + `","kind":"message","message":{}}`,
	} {
		tree.Add(&schemas.SessionBatch{Key: "a", Entries: []schemas.JSON{schemas.JSON(text)}})
	}
	if tree.Bad() != 11 {
		t.Errorf("%d of 11 malformed entries are counted", tree.Bad())
	}
	// What follows a hole stays in sight; a fork in the middle of a session is no fork; a later version's kind is kept.
	add(t, tree, message("m2", "lost", "after a hole"), schemas.SessionEntry{ID: "f", Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: "a", Entry: "m1"}})
	tree.Add(&schemas.SessionBatch{Key: "a", Entries: []schemas.JSON{schemas.JSON(`{"id":"new","kind":"hologram","hologram":{}}`)}})
	b, err := resolve(t.Context(), forest(tree), "a", "")
	if err != nil || entryIDs(b.Entries) != "m1 m2 f new" || b.Bad != 11 {
		t.Errorf("%v: %s, %d bad", err, entryIDs(b.Entries), b.Bad)
	}
	// Rings of forks end.
	x, y := NewTree("x"), NewTree("y")
	add(t, x, schemas.SessionEntry{ID: "1", Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: "y", Entry: "2"}})
	add(t, y, schemas.SessionEntry{ID: "2", Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: "x", Entry: "1"}})
	if _, err := resolve(t.Context(), forest(x, y), "x", ""); err == nil || !strings.Contains(err.Error(), "in a row") {
		t.Errorf("a ring of forks: %v", err)
	}
	// Values over the limits were not committed by a host.
	big := NewTree("big")
	var writes []schemas.StoreWrite
	for n := range 5 {
		writes = append(writes, write(fmt.Sprint(n), `"`+strings.Repeat("x", schemas.MaxStoreValue-2)+`"`))
	}
	add(t, big, stored("1", "", schemas.StoreEntry{Commit: "c", Part: 1, Parts: 1, Writes: writes}),
		stored("2", "", schemas.StoreEntry{Commit: "d", Part: 1, Parts: 1, Writes: writes[:3]}),
		stored("3", "", schemas.StoreEntry{Commit: "e", Part: 1, Parts: 1, Writes: []schemas.StoreWrite{write("", "1")}}))
	b, err = resolve(t.Context(), forest(big), "big", "")
	if err != nil || len(b.Values) != 3 || b.Bad != 2 {
		t.Errorf("%v: %d values, %d bad", err, len(b.Values), b.Bad)
	}
}

// twin is what a tree should be, in the plainest way: a list that is walked again for each question.
type twin struct{ entries []schemas.SessionEntry }

func (w *twin) add(e schemas.SessionEntry) {
	known := false
	for _, old := range w.entries {
		if old.ID == e.ID {
			return
		}
		known = known || old.ID == e.Parent
	}
	if !known {
		e.Parent = ""
		if len(w.entries) > 0 {
			e.Parent = w.entries[len(w.entries)-1].ID
		}
	}
	w.entries = append(w.entries, e)
}

func (w *twin) path(id string) []schemas.SessionEntry {
	for _, e := range w.entries {
		if e.ID == id {
			return append(w.path(e.Parent), e)
		}
	}
	return nil
}

func (w *twin) values(path []schemas.SessionEntry) map[string]string {
	out := map[string]string{}
	for i, e := range path {
		if e.Kind != schemas.EntryStore {
			continue
		}
		parts := map[int]schemas.StoreEntry{}
		for _, p := range path[:i+1] {
			if p.Kind == schemas.EntryStore && p.Store.Commit == e.Store.Commit {
				if _, ok := parts[p.Store.Part]; !ok {
					parts[p.Store.Part] = *p.Store
				}
			}
		}
		first := slices.IndexFunc(path, func(p schemas.SessionEntry) bool {
			return p.Kind == schemas.EntryStore && p.Store.Commit == e.Store.Commit && p.Store.Part == e.Store.Part
		})
		if len(parts) < e.Store.Parts || first != i {
			continue
		}
		for n := 1; n <= e.Store.Parts; n++ {
			for _, write := range parts[n].Writes {
				delete(out, write.Key)
				if len(write.Value) > 0 {
					out[write.Key] = string(write.Value)
				}
			}
		}
	}
	return out
}

// TestSpec_T3_TreeIsItsTwin also proves that a host, which reads entries one after the other and keeps only the end of
// the branch, has the values of the branch.
func TestSpec_T3_TreeIsItsTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree, naive := NewTree("a"), &twin{}
		live := &state{index: newIndex(), projection: newProjection()}
		part := map[int]int{}
		for n := range rapid.IntRange(1, 40).Draw(rt, "entries") {
			e := message(fmt.Sprint("e", n), "", "")
			if n > 0 && rapid.IntRange(0, 9).Draw(rt, "again") == 0 {
				e.ID = fmt.Sprint("e", rapid.IntRange(0, n-1).Draw(rt, "id"))
			}
			switch rapid.IntRange(0, 5).Draw(rt, "parent") {
			case 0:
				e.Parent = fmt.Sprint("e", rapid.IntRange(0, 50).Draw(rt, "of")) // may not be there
			case 1, 2:
				e.Parent = tree.Head()
			}
			if rapid.Bool().Draw(rt, "stores") {
				commit := rapid.IntRange(0, 3).Draw(rt, "commit")
				var writes []schemas.StoreWrite
				for range rapid.IntRange(0, 3).Draw(rt, "writes") {
					w := schemas.StoreWrite{Key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key")}
					if rapid.Bool().Draw(rt, "sets") {
						w.Value = schemas.JSON(fmt.Sprint(n))
					}
					writes = append(writes, w)
				}
				if commit == 0 { // one of its own
					e = stored(e.ID, e.Parent, schemas.StoreEntry{Commit: fmt.Sprint("single", n), Part: 1, Parts: 1, Writes: writes})
				} else if part[commit] < commit+1 {
					part[commit]++
					e = stored(e.ID, e.Parent, schemas.StoreEntry{Commit: fmt.Sprint(commit), Part: part[commit], Parts: commit + 1, Writes: writes})
				}
			}
			naive.add(e)
			add(t, tree, e)
			if live.follow(&e) != nil { // the host reads it all again
				live = &state{index: newIndex(), projection: newProjection()}
				maps.Copy(live.parent, tree.parent)
				live.first, live.head = tree.first, tree.head
				for _, on := range tree.Path(tree.Head()) {
					_ = live.add(on)
				}
			}
		}
		for _, e := range naive.entries {
			want := naive.path(e.ID)
			got, err := resolve(t.Context(), forest(tree), "a", e.ID)
			if err != nil {
				rt.Fatal(err)
			}
			if entryIDs(got.Entries) != entryIDs(want) {
				rt.Fatalf("path to %s: %s, want %s", e.ID, entryIDs(got.Entries), entryIDs(want))
			}
			if diff := cmp.Diff(naive.values(want), plain(got.Values)); diff != "" {
				rt.Fatalf("values at %s: %s", e.ID, diff)
			}
		}
		if diff := cmp.Diff(naive.values(naive.path(tree.Head())), plain(live.values)); diff != "" {
			rt.Fatalf("values that a host has: %s", diff)
		}
	})
}

func FuzzTree(f *testing.F) {
	f.Add([]byte(`{"id":"a","kind":"store","store":{"commit":"c","part":1,"parts":2,"writes":[{"key":"k","value":1}]}}`), []byte(`{"id":"b","parent":"a","kind":"fork","fork":{"session":"s","entry":"a"}}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		tree := NewTree("s")
		tree.Add(&schemas.SessionBatch{Key: "s", Entries: []schemas.JSON{one, two, one}})
		b, err := resolve(t.Context(), forest(tree), "s", "")
		if err != nil {
			return
		}
		if err := b.Export(&strings.Builder{}); err != nil {
			t.Errorf("what was read can't be written: %v", err)
		}
		b.View()
		Interrupted(b)
		if _, err := json.Marshal(b); err != nil {
			t.Errorf("what was read can't be shown: %v", err)
		}
	})
}
