package cell

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// Q4: a call that awaits its results makes its cell a required one: the call stays open, yields are answered at once,
// and siblings are waited for too.
func TestSpec_Q4_CallsThatAwaitTheirResults(t *testing.T) {
	for _, c := range []struct {
		code, value string
		after       time.Duration
	}{
		{`return await after({ms:5000,value:1,awaitResults:true})`, `1`, 5 * time.Second},
		{`await after({ms:500}); return await after({ms:5000,value:2,awaitResults:true})`, `2`, 5500 * time.Millisecond},
		{`const e = after({ms:9000,value:3}); await after({ms:5000,awaitResults:true}); return await e`, `3`, 9 * time.Second},
		{`void after({ms:2000,awaitResults:true}); await yield_control(); return await after({ms:5000,value:4})`, `4`, 5 * time.Second},
		{`await after({ms:2000,awaitResults:true}); for (let i=0;i<9;i++) await after({ms:2000}); return 5`, `5`, 20 * time.Second},
		{`return (await Promise.all(Array.from({length:40}, (_, i) => after({ms:2000,value:i,awaitResults:i==39})))).length`, `40`, 6 * time.Second},
	} {
		t.Run(c.code, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				begin := time.Now()
				p := b.exec(c.code)
				r := <-p.reply
				completed(b.t, r, c.value)
				if d := time.Since(begin); d != c.after {
					b.t.Errorf("after %v, want %v", d, c.after)
				}
				<-p.gone
				if got := p.kinds(); strings.Contains(got, "Parked") {
					b.t.Errorf("seen: %s", got)
				}
			})
		})
	}
}

// Q4: in a wait as well; the budget stays the call's (Q2), and no wait can take the cell over.
func TestSpec_Q2_Q4_BecomesRequiredInAWait(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await yield_control(); await after({ms:600,value:1}); await after({ms:5000,awaitResults:true}); return 1`)
		<-p.reply
		begin := time.Now()
		c := p.wait("w1")
		time.Sleep(2 * time.Second) // virtual: it rests
		failed(b.t, <-p.wait("w2"), schemas.InvalidInput, "already being resumed")
		completed(b.t, <-c, `1`)
		if d := time.Since(begin); d != 5600*time.Millisecond {
			b.t.Errorf("after %v", d)
		}
	})
	// What it has used before it became required is used.
	m, now := begun(MachineSpec{Awaits: func(ref int, _ schemas.JSON) bool { return ref == awaitable }})
	now = now.Add(900 * time.Millisecond)
	m.Step(LegDone{At: now, Requests: []Request{{ID: "1", Kind: CallRequest, Ref: awaitable}}})
	m.Step(SlotGranted{At: now})
	m.Step(TimerFired{At: now, Timer: m.grace})
	m.Step(Parked{At: now})
	m.Step(Answer{At: now.Add(time.Hour), ID: "1", State: schemas.AnswerDone})
	leg := legOf(t, m.Step(WorkerGranted{At: now.Add(time.Hour), Ticket: m.ticket}))
	if left := leg.Deadline.Sub(now.Add(time.Hour)); left != 100*time.Millisecond {
		t.Errorf("%v are left, want 100ms", left)
	}
	// A program whose budget is used up sends no such call.
	m, now = begun(MachineSpec{Awaits: func(ref int, _ schemas.JSON) bool { return ref == awaitable }})
	now = now.Add(time.Second)
	m.Step(TimerFired{At: now, Timer: m.life})
	m.Step(LegDone{At: now, Requests: []Request{{ID: "1", Kind: CallRequest, Ref: awaitable}}})
	if effects := m.Step(SlotGranted{At: now}); has[Dispatch](effects) || !m.Ended() || m.result.Code != schemas.Timeout {
		t.Errorf("effects %+v, result %+v", effects, m.result)
	}
}

// Q5: each call carries what was left of the budget of the exec or wait when it was sent.
func TestSpec_Q5_CallsCarryTheBudget(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await echo({}); await after({ms:400}); await echo({}); await asks({ms:5000}); await after({ms:100}); await echo({});
			await yield_control(); await after({ms:250}); await echo({}); await after({ms:3000})`)
		<-p.reply
		<-p.wait("w")
		var got []int64
		for _, budget := range p.budgets {
			got = append(got, budget.Milliseconds())
		}
		if want := []int64{1000, 1000, 600, 600, 600, 500, 1000, 750, 750}; !slices.Equal(got, want) {
			b.t.Errorf("budgets %v, want %v ms", got, want)
		}
	})
	// One that is sent when it's used up doesn't say that it isn't known.
	m, now := begun(MachineSpec{})
	now = now.Add(2 * time.Second)
	m.Step(LegDone{At: now, Requests: []Request{{ID: "1", Kind: CallRequest}}})
	for _, e := range m.Step(SlotGranted{At: now}) {
		if d, ok := e.(Dispatch); ok && d.Call.Budget != time.Millisecond {
			t.Errorf("budget %v", d.Call.Budget)
		}
	}
}

// P6: how each call that was sent has ended is told once.
func TestSpec_P6_E5_SettledOnce(t *testing.T) {
	recorded := func(s *Spec) { s.Record = true }
	for _, c := range []struct {
		name, code string
		end        func(p *probe)
		want       string
	}{
		{"answers and refusals", `await echo({}); await web({}); await boom().catch(()=>{}); await refused().catch(()=>{}); return 1`, func(*probe) {},
			"1 done, 2 done untrusted, 3 unknown boom, 4 not_started refused"},
		{"a denial", `await asks({ms:2000,deny:"no"}).catch(()=>{}); return 1`, func(*probe) {}, "1 not_started no"},
		{"what is pending at the end", `void never(); void asks({ms:-1}); setTimeout(()=>{},1e6); await after({ms:5}); throw new Error("x")`, func(*probe) {},
			"4 done, 1 unknown, 2 unknown"},
		{"what was never sent", `await Promise.all(Array.from({length:18}, () => never()))`, func(p *probe) { <-p.cancel("enough") },
			"1 unknown, 2 unknown, 3 unknown, 4 unknown, 5 unknown, 6 unknown, 7 unknown, 8 unknown, 9 unknown, 10 unknown, " +
				"11 unknown, 12 unknown, 13 unknown, 14 unknown, 15 unknown, 16 unknown"},
		{"a cancel", `await after({ms:2000})`, func(p *probe) { <-p.cancel("enough") }, "1 unknown"},
		{"a stop", `void echo({}); await never()`, func(p *probe) { p.sys.Root.Stop(p.pid); <-p.gone }, "1 done, 2 unknown"},
		{"a park", `await after({ms:3000}); return 1`, func(p *probe) { <-p.reply; completed(p.t, <-p.wait("w"), `1`) }, "1 done"},
		{"an answer over the limit", `await big({N:200000}).catch(()=>{}); return 1`, func(*probe) {}, "1 done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				p := b.exec(c.code, recorded, func(s *Spec) { s.Limits.Timeout, s.Limits.SnapshotBytes = 2500*time.Millisecond, 100_000 })
				if strings.HasPrefix(c.name, "an answer") {
					<-p.reply
				}
				time.Sleep(10 * time.Millisecond) // virtual: it gets where the case wants it
				c.end(p)
				<-p.gone
				time.Sleep(3 * time.Second) // virtual: what tools answer late arrives
				var got []string
				for _, s := range p.settled {
					line := s.ID + " " + string(s.Outcome)
					if s.Untrusted {
						line += " untrusted"
					}
					if s.Err != nil {
						line += " " + s.Err.Message
					}
					got = append(got, line)
				}
				if strings.Join(got, ", ") != c.want {
					b.t.Errorf("told: %s, want %s", strings.Join(got, ", "), c.want)
				}
			})
		})
	}
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`void never(); await echo({}); throw new Error("x")`)
		<-p.gone
		if len(p.settled) != 0 {
			b.t.Errorf("told without being asked: %+v", p.settled)
		}
	})
}

// P6: what is told is the tool's own answer, and how long it took, before the program has it.
func TestSpec_P6_WhatIsTold(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`return await after({ms:700,value:{a:1}})`, func(s *Spec) { s.Record = true })
		completed(b.t, <-p.reply, `{"a":1}`)
		if s := p.settled[0]; string(s.Value) != `{"a":1}` || s.Duration != 700*time.Millisecond || s.Err != nil {
			b.t.Errorf("told %+v", s)
		}
	})
}

// O5: what the run is told is tainted: everything after data of an MCP server or a client has reached the program, in the
// same leg, in a later one, and after a park.
func TestSpec_O5_TaintReachesTheRun(t *testing.T) {
	for _, c := range []struct {
		code  string
		local *Local
		want  []bool
	}{
		{`await catalog.search("x"); await echo({}); await catalog.search("x")`, nil, []bool{false, false}},
		{`await catalog.search("x"); await web({}); await catalog.search("x")`, nil, []bool{false, true}},
		{`await web({}).catch(()=>{}); await after({ms:2000}); await catalog.search("x")`, nil, []bool{true}},
		{`const h = (await catalog.search("x"))[0]; await h.describe(); await catalog.search("x"); await echo({}); await catalog.search("x")`,
			&Local{Value: schemas.JSON(`{}`), Untrusted: true}, []bool{false, false, true, true}},
	} {
		t.Run(c.code, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				p := b.exec(c.code, func(s *Spec) { s.Port.(*probe).local = c.local })
				if r := <-p.reply; r.Status == schemas.StatusWaiting {
					time.Sleep(2 * time.Second) // virtual: the call answers
					<-p.wait("w")
				}
				<-p.gone
				if !slices.Equal(p.tainted, c.want) {
					b.t.Errorf("tainted %v, want %v", p.tainted, c.want)
				}
			})
		})
	}
}

// A dry run's results say what it called, whatever became of the cell; others say nothing.
func TestSpec_V2_DryRunsListTheirCalls(t *testing.T) {
	dry := &schemas.DryRun{Calls: []schemas.DryCall{{ID: "1", Tool: "echo"}}}
	virtual(t, slot.Options{}, func(b *bed) {
		for _, code := range []string{`return 1`, `await yield_control()`, `throw new Error("x")`} {
			if r := <-b.exec(code, func(s *Spec) { s.Port.(*probe).dry = dry }).reply; r.DryRun != dry {
				b.t.Errorf("%s: %+v", code, r.DryRun)
			}
			if r := <-b.exec(code).reply; r.DryRun != nil {
				b.t.Errorf("%s: %+v", code, r.DryRun)
			}
		}
	})
}
