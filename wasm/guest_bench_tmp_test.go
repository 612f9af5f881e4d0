package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func tmpTools(n int) []byte {
	var tools []map[string]any
	for i := range n {
		tools = append(tools, map[string]any{"ref": i, "callableName": fmt.Sprintf("tool_%d", i), "toolName": "x", "label": "L", "description": "some description of the tool", "source": "openclaw", "input": "{ path: string }", "output": "{ content: string }", "apiPath": "tools/x.d.ts"})
	}
	full, _ := json.Marshal(map[string]any{"contract": "current", "tools": tools, "mcp": []any{}})
	return full
}

func TestTmpController(t *testing.T) {
	for _, cfg := range []Config{{CacheDir: "/tmp/h1b/cache", controller: testController}, {CacheDir: "/tmp/h1b/cache"}} {
		e, err := NewEngine(context.Background(), cfg)
		if err != nil { t.Fatal(err) }
		img, err := e.NewImage(t.Context(), tmpTools(0))
		if err != nil { t.Fatal(err) }
		img2, err := e.NewImage(t.Context(), tmpTools(100))
		if err != nil { t.Fatal(err) }
		best := time.Hour
		for range 20 {
			s := time.Now()
			e.NewImage(t.Context(), tmpTools(100))
			best = min(best, time.Since(s))
		}
		t.Log("image", img.Size(), img2.Size(), best)
		for _, img := range []*Image{img, img2} {
		for _, src := range []string{"return 1", "return {a:1}", "text('a')", "await 1", "const x={a:[1,2,3]};for(const k of x.a){if(k>2){return k}}"} {
			var a, st, cl time.Duration = time.Hour, time.Hour, time.Hour
			for range 200 {
				s := time.Now()
				g, err := e.Acquire(t.Context(), img, testLimits(), Env{})
				if err != nil { t.Fatal(err) }
				a = min(a, time.Since(s))
				s = time.Now()
				leg, err := g.Start(t.Context(), src)
				if err != nil || !leg.Settled { t.Fatal(leg, err) }
				st = min(st, time.Since(s))
				s = time.Now()
				g.Close()
				cl = min(cl, time.Since(s))
			}
			t.Log(src, "acquire", a, "start", st, "close", cl)
		}}
		e.Close()
	}
}
