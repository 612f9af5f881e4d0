package host_test

import (
	"context"
	"encoding/json"
	"syscall"
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
	n, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{funcs}, CacheDir: "/tmp/h9/cache"})
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

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func loop(b *testing.B, f func()) {
	for range 50 {
		f()
	}
	b.ReportAllocs()
	c := cpu()
	best := time.Hour
	for b.Loop() {
		s := time.Now()
		f()
		best = min(best, time.Since(s))
	}
	b.ReportMetric(float64((cpu()-c).Microseconds())/float64(b.N), "cpu-us")
	b.ReportMetric(float64(best.Microseconds()), "best-us")
}

func bexec(b *testing.B, code string) {
	_, run := bnode(b)
	input, _ := json.Marshal(map[string]any{"title": "t", "code": code})
	loop(b, func() {
		r, err := run.Exec(context.Background(), schemas.Exec{CallID: "c", Input: input})
		if err != nil || r.Status != "completed" {
			b.Fatal(err, r)
		}
	})
}
func BenchmarkUnit(b *testing.B) {
	n, _ := bnode(b)
	c := n.Conn().NATS()
	c.QueueSubscribe("unit", "q", respond)
	c.Flush()
	loop(b, func() { c.Request("unit", []byte("abc"), time.Second) })
}
func respond[M interface{ Respond([]byte) error }](m M) { m.Respond([]byte("abc")) }

func BenchmarkExec(b *testing.B)  { bexec(b, "return 1+2") }
func BenchmarkSeq50(b *testing.B) { bexec(b, "for (let i=0;i<50;i++) await echo({n:i}); return 1") }
func BenchmarkPar16(b *testing.B) {
	bexec(b, "await Promise.all(Array.from({length:16},(_, i)=>echo({n:i}))); return 1")
}
func BenchmarkYield(b *testing.B) {
	n, run := bnode(b)
	input, _ := json.Marshal(map[string]any{"title": "t", "code": "await yield_control(); return 1"})
	loop(b, func() {
		r, err := run.Exec(context.Background(), schemas.Exec{CallID: "c", Input: input})
		if err != nil || r.Status != "waiting" {
			b.Fatal(err, r)
		}
		r, err = n.Client().Wait(context.Background(), schemas.Wait{CallID: "w", Identity: someone("b"), RunID: r.RunID})
		if err != nil || r.Status != "completed" {
			b.Fatal(err, r)
		}
	})
}
