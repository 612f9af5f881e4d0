package host_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func bnode(b *testing.B) (*host.Node, *bus.Run) {
	funcs, _ := tool.Funcs("lab", tool.New("echo", "Gives back what it gets.", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }))
	ctx := context.Background()
	n, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{funcs}, CacheDir: cache})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c, f := context.WithTimeout(ctx, 5*time.Second); defer f(); n.Close(c) })
	n.Ready(ctx)
	run, err := n.Client().Open(ctx, schemas.Open{Identity: someone("b")})
	if err != nil {
		b.Fatal(err)
	}
	return n, run
}
func bexec(b *testing.B, code string) {
	_, run := bnode(b)
	input, _ := json.Marshal(map[string]any{"title": "t", "code": code})
	for b.Loop() {
		r, err := run.Exec(context.Background(), schemas.Exec{CallID: "c", Input: input})
		if err != nil || r.Status != "completed" {
			b.Fatal(err, r)
		}
	}
}
func BenchmarkExec(b *testing.B)  { bexec(b, "return 1+2") }
func BenchmarkSeq50(b *testing.B) { bexec(b, "for (let i=0;i<50;i++) await echo({n:i}); return 1") }
func BenchmarkPar16(b *testing.B) {
	bexec(b, "await Promise.all(Array.from({length:16},(_, i)=>echo({n:i}))); return 1")
}
func BenchmarkYield(b *testing.B) {
	n, run := bnode(b)
	input, _ := json.Marshal(map[string]any{"title": "t", "code": "await yield_control(); return 1"})
	for b.Loop() {
		r, err := run.Exec(context.Background(), schemas.Exec{CallID: "c", Input: input})
		if err != nil || r.Status != "waiting" {
			b.Fatal(err, r)
		}
		r, err = n.Client().Wait(context.Background(), schemas.Wait{CallID: "w", Identity: someone("b"), RunID: r.RunID})
		if err != nil || r.Status != "completed" {
			b.Fatal(err, r)
		}
	}
}
