package wasm

import (
	"context"
	"fmt"
	"testing"

	"github.com/codecell/codecell/wasm/meter"
)

var meterPrograms = map[string]string{
	"fib":    "function f(n){return n<2?n:f(n-1)+f(n-2)} return f(21)",
	"json":   "const o=[];for(let i=0;i<2000;i++)o.push({id:i,name:'n'+i,tags:['a','b',i]});return JSON.parse(JSON.stringify(o)).length",
	"sort":   "const a=[];let x=1;for(let i=0;i<20000;i++){x=(x*1103515245+12345)&0x7fffffff;a.push(x)}a.sort((p,q)=>p-q);return a[0]",
	"alloc":  "const a=[];for(let i=0;i<20000;i++)a.push({a:i});return a.length",
	"string": "let s='';for(let i=0;i<20000;i++)s+=i;return s.length",
	"regexp": "let n=0;for(let i=0;i<500;i++)n+=/([a-z]+)-(\\d+)/.exec('hello-'+i+' foo')[2].length;return n",
	"loop":   "let s=0;for(let i=0;i<200000;i++)s+=i;return s",
}

// BenchmarkMeter measures what metering costs on programs of several kinds.
func BenchmarkMeter(b *testing.B) {
	for _, v := range []struct {
		name string
		opts meter.Options
	}{
		{"plain", meter.Options{}}, {"loops2000", meter.Options{Interval: 2000, SkipEntries: true}},
		{"entries2000", meter.Options{Interval: 2000}}, {"entries10000", meter.Options{Interval: 10000}},
	} {
		e, err := NewEngine(context.Background(), Config{controller: testController, rewrite: func(m []byte) ([]byte, error) {
			if v.opts.Interval == 0 {
				return m, nil
			}
			v.opts.ImportModule, v.opts.ImportName = "env", "host_interrupt"
			out, _, err := meter.Instrument(m, v.opts)
			return out, err
		}})
		if err != nil {
			b.Fatal(err)
		}
		img := newImage(b, e)
		for _, name := range []string{"fib", "json", "sort", "alloc", "string", "regexp", "loop"} {
			b.Run(fmt.Sprintf("%s/%s", name, v.name), func(b *testing.B) {
				for b.Loop() {
					g, err := e.Acquire(b.Context(), img, testLimits(), Env{Seed: 1})
					if err != nil {
						b.Fatal(err)
					}
					if leg, err := g.Start(b.Context(), meterPrograms[name]); err != nil || leg.Err != nil {
						b.Fatal(err, leg.Err)
					}
					_ = g.Close()
				}
			})
		}
		_ = e.Close()
	}
}
