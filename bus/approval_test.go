package bus_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func pendingApproval(executor string, opened time.Time) *schemas.Approval {
	return &schemas.Approval{
		ID: bus.NewApprovalID(executor), Executor: executor, State: schemas.ApprovalPending, Tool: "write",
		Opened: opened.UnixNano(), Deadline: time.Now().Add(time.Hour).UnixNano(),
	}
}

// Whoever writes says what they have read: of two one is told to look again (P3).
func TestSpec_P3_RecordsAreReplacedByRevision(t *testing.T) {
	conn := bustest.Conn(t)
	one, other := bus.NewApprovalBook(conn), bus.NewApprovalBook(conn)
	a := pendingApproval("x1", time.Now())
	first, err := one.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(t.Context(), a); !errors.Is(err, bus.ErrChanged) {
		t.Errorf("opened twice: %v", err)
	}
	a.State = schemas.ApprovalApproved
	second, err := one.Replace(t.Context(), a, first)
	if err != nil {
		t.Fatal(err)
	}
	a.State = schemas.ApprovalDenied
	if _, err := other.Replace(t.Context(), a, first); !errors.Is(err, bus.ErrChanged) {
		t.Errorf("replaced twice: %v", err)
	}
	found, revision, err := other.Find(t.Context(), a.ID)
	if err != nil || revision != second || found.State != schemas.ApprovalApproved {
		t.Errorf("%+v %d %v", found, revision, err)
	}
	if _, _, err := one.Find(t.Context(), bus.NewApprovalID("x1")); !errors.Is(err, bus.ErrNoRecord) {
		t.Error(err)
	}

	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			book := bus.NewApprovalBook(conn)
			for n := 0; n < each; {
				g, revision, err := book.Grants(t.Context(), "cell.c")
				if err != nil {
					t.Error(err)
					return
				}
				g.Grants = append(g.Grants, schemas.Grant{})
				switch err := book.SetGrants(t.Context(), "cell.c", g, revision); {
				case err == nil:
					n++
				case !errors.Is(err, bus.ErrChanged):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if g, _, err := one.Grants(t.Context(), "cell.c"); err != nil || len(g.Grants) != writers*each {
		t.Errorf("%d writes are left: %v", len(g.Grants), err)
	}
}

// A bucket that a server has lost is made anew.
func TestApprovalBook_LostBuckets(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewApprovalBook(conn)
	a := pendingApproval("x1", time.Now())
	if _, err := book.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := conn.JetStream().DeleteKeyValue(t.Context(), "codecell_approvals"); err != nil {
		t.Fatal(err)
	}
	if list, err := bus.NewClient(conn).Approvals(t.Context(), true); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, _, err := book.Find(t.Context(), a.ID); !errors.Is(err, bus.ErrNoRecord) {
		t.Error(err)
	}
	if _, err := book.Open(t.Context(), a); err != nil {
		t.Error(err)
	}
}

func TestSpec_P3_ScopesOfGrants(t *testing.T) {
	at, who := schemas.Address{Host: "h", Run: "r", Cell: "c"}, schemas.Identity{Agent: "main", SessionKey: "k"}
	key := func(scope schemas.GrantScope, change ...func(*schemas.Address, *schemas.Identity)) string {
		at, who := at, who
		for _, f := range change {
			f(&at, &who)
		}
		k, ok := bus.GrantKey(scope, at, who)
		return fmt.Sprint(k, ok)
	}
	other := []func(*schemas.Address, *schemas.Identity){
		func(a *schemas.Address, _ *schemas.Identity) { a.Cell = "c2" },
		func(a *schemas.Address, _ *schemas.Identity) { a.Run = "r2" },
		func(a *schemas.Address, _ *schemas.Identity) { a.Host = "h2" },
		func(_ *schemas.Address, i *schemas.Identity) { i.Agent = "clerk" },
		func(_ *schemas.Address, i *schemas.Identity) { i.SessionKey = "k2" },
		func(_ *schemas.Address, i *schemas.Identity) { i.Sender = "eve" },
		func(_ *schemas.Address, i *schemas.Identity) { i.Sandbox = "box" },
		func(_ *schemas.Address, i *schemas.Identity) { i.Agent, i.SessionKey = "mai", "nk" },
		func(a *schemas.Address, i *schemas.Identity) { i.Run, i.SessionID, i.Channel = "x", "y", "z" },
	}
	for scope, apart := range map[schemas.GrantScope][]int{
		schemas.GrantCell: {0}, schemas.GrantRun: {1, 2}, schemas.GrantSession: {3, 4, 5, 6, 7},
	} {
		for i, change := range other {
			if differs := key(scope, change) != key(scope); differs != slices.Contains(apart, i) {
				t.Errorf("%s, change %d: another scope %v", scope, i, differs)
			}
		}
	}
	if key(schemas.GrantSession, func(_ *schemas.Address, i *schemas.Identity) { i.Agent = "" }) !=
		key(schemas.GrantSession, func(_ *schemas.Address, i *schemas.Identity) { i.Agent = schemas.DefaultAgent }) {
		t.Error("the default agent has two sessions")
	}
	for _, scope := range []schemas.GrantScope{schemas.GrantCell, schemas.GrantRun, schemas.GrantSession, "", "world"} {
		if k, ok := bus.GrantKey(scope, schemas.Address{}, schemas.Identity{}); ok {
			t.Errorf("%q: nothing has the scope %s", scope, k)
		}
	}
}

// Garbage in the bucket hides nothing else, and the list is in order.
func TestSpec_B4_ApprovalsBesideGarbage(t *testing.T) {
	conn := bustest.Conn(t)
	book, client := bus.NewApprovalBook(conn), bus.NewClient(conn)
	kv, err := conn.JetStream().KeyValue(t.Context(), "codecell_approvals")
	if err != nil {
		t.Fatal(err)
	}
	sub, err := bus.Serve(conn, bus.ExecutorSubject("x1"), "", func(r *bus.Request[schemas.Ping, schemas.Pong]) { _ = r.Respond(&schemas.Pong{}) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	now := time.Now()
	late, early, over := pendingApproval("x1", now), pendingApproval("x1", now.Add(-time.Minute)), pendingApproval("x1", now)
	over.Deadline = now.Add(-time.Second).UnixNano()
	for i, a := range []*schemas.Approval{late, early, over} {
		if _, err := kv.Put(t.Context(), fmt.Sprint("junk", i), []byte("\xc1junk")); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Open(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.Approvals(t.Context(), false)
	if err != nil || len(list) != 2 || list[0].ID != early.ID || list[1].ID != late.ID {
		t.Errorf("%+v %v", list, err)
	}
	if a, err := client.Approval(t.Context(), over.ID); err != nil || a.State != schemas.ApprovalExpired {
		t.Errorf("%+v %v", a, err)
	}
}

// Anybody may write to the buckets: what can't be read grants nothing and is in nobody's way, and what stands under the
// name of another approval isn't shown as it (B4).
func TestSpec_B4_P3_GarbageInTheBuckets(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewApprovalBook(conn)
	honest := pendingApproval("x1", time.Now())
	if _, err := book.Open(t.Context(), honest); err != nil {
		t.Fatal(err)
	}
	put := func(bucket, key string, value []byte) {
		t.Helper()
		kv, err := conn.JetStream().KeyValue(t.Context(), bucket)
		if err == nil {
			_, err = kv.Put(t.Context(), key, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := book.SetGrants(t.Context(), "cell.c", &schemas.Grants{}, 0); err != nil {
		t.Fatal(err)
	}
	put("codecell_grants", "cell.c", []byte("garbage"))
	g, revision, err := book.Grants(t.Context(), "cell.c")
	if err != nil || len(g.Grants) != 0 || revision == 0 {
		t.Fatalf("%+v %d %v", g, revision, err)
	}
	if err := book.SetGrants(t.Context(), "cell.c", &schemas.Grants{Grants: []schemas.Grant{{Calls: 1}}}, revision); err != nil {
		t.Error(err)
	}

	lie := *honest
	lie.Tool, lie.Input, lie.State = "read", schemas.JSON("{}"), schemas.ApprovalApproved
	text, err := schemas.Encode(&lie)
	if err != nil {
		t.Fatal(err)
	}
	put("codecell_approvals", "another", text)
	put("codecell_approvals", "garbage", []byte{0xc1})
	list, err := bus.NewClient(conn).Approvals(t.Context(), true)
	if err != nil || len(list) != 1 || list[0].Tool != "write" {
		t.Errorf("%+v %v", list, err)
	}
}

// Word that nobody listens is there within a round trip, and so is word that somebody may.
func TestSpec_U5_WhoListens(t *testing.T) {
	server := bustest.Server(t)
	conn, other := bustest.Connect(t, server), bustest.Connect(t, server)
	subject := bus.ReplySubject("h", "c", "1")
	if conn.Listened(t.Context(), subject, &schemas.Answer{}) {
		t.Error("nobody listens")
	}
	sub, err := bus.Replies(other, "h", func(*bus.Reply) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !conn.Listened(t.Context(), subject, &schemas.Answer{}) {
		t.Error("somebody listens")
	}
	sub.Close()
	if err := other.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if conn.Listened(t.Context(), subject, &schemas.Answer{}) {
		t.Error("nobody listens any more")
	}
	conn.Close()
	if !conn.Listened(t.Context(), subject, &schemas.Answer{}) {
		t.Error("without a bus nobody knows")
	}
}
