package slot

import (
	"container/list"

	"github.com/asynkron/protoactor-go/actor"
)

// ledger is the actor.
type ledger struct {
	onChange func(Change)
	limit    [kinds]int
	held     [kinds]int
	holders  map[string]*holder
	queue    *list.List // of *holder that want a worker, first come first
	idle     *list.List // of *holder whose worker is idle and not yet asked for, longest idle first
	asked    int        // workers asked back and neither freed nor declined
}

// holder is what the ledger knows of one actor that holds or wants something.
type holder struct {
	pid    *actor.PID
	name   string
	holds  [kinds]bool
	ticket uint64        // of the queued ask
	queued *list.Element // in ledger.queue
	idle   *list.Element // in ledger.idle
	asked  bool          // counted in ledger.asked
}

func newLedger(o Options) *ledger {
	l := &ledger{onChange: o.OnChange, holders: make(map[string]*holder), queue: list.New(), idle: list.New()}
	l.limit = [kinds]int{Slot: o.Slots, Worker: o.Workers}
	return l
}

// Receive routes.
func (l *ledger) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *Ask:
		l.ask(ctx, m)
	case *Free:
		l.free(ctx, m)
	case *Idle:
		l.idled(ctx, m.Holder)
	case *Busy:
		l.declined(ctx, m.Holder)
	case *Count:
		ctx.Respond(l.counts())
	case *actor.Terminated:
		l.gone(ctx, m.Who)
	}
}

func (l *ledger) ask(ctx actor.Context, m *Ask) {
	h := l.holders[m.Holder.Id]
	if h == nil {
		h = &holder{pid: m.Holder}
		l.holders[m.Holder.Id] = h
		ctx.Watch(m.Holder)
	}
	h.name = m.Name
	switch {
	case h.holds[m.Kind]:
		// Asked twice: the holder has it already, and can't have two.
		ctx.Send(m.Holder, &Granted{Kind: m.Kind, Ticket: m.Ticket})
	case l.held[m.Kind] < l.limit[m.Kind]:
		l.grant(ctx, h, m.Kind, m.Ticket)
	case m.Kind == Slot:
		ctx.Send(m.Holder, &Refused{Kind: m.Kind, Ticket: m.Ticket})
	default:
		h.ticket = m.Ticket
		if h.queued == nil {
			h.queued = l.queue.PushBack(h)
		}
		l.press(ctx)
	}
}

func (l *ledger) grant(ctx actor.Context, h *holder, k Kind, ticket uint64) {
	h.holds[k] = true
	l.held[k]++
	l.changed(h, k, true)
	ctx.Send(h.pid, &Granted{Kind: k, Ticket: ticket})
}

func (l *ledger) free(ctx actor.Context, m *Free) {
	h := l.holders[m.Holder.Id]
	if h == nil {
		return
	}
	if m.Kind == Worker {
		l.dequeue(h)
	}
	l.release(ctx, h, m.Kind)
}

// release takes back what is held and passes a worker on.
func (l *ledger) release(ctx actor.Context, h *holder, k Kind) {
	if !h.holds[k] {
		return
	}
	h.holds[k] = false
	l.held[k]--
	l.changed(h, k, false)
	if k != Worker {
		return
	}
	l.unidle(h)
	l.unask(h)
	if e := l.queue.Front(); e != nil {
		next := e.Value.(*holder)
		l.dequeue(next)
		l.grant(ctx, next, Worker, next.ticket)
	}
}

func (l *ledger) idled(ctx actor.Context, pid *actor.PID) {
	h := l.holders[pid.Id]
	if h == nil || !h.holds[Worker] || h.asked {
		return
	}
	l.unidle(h)
	h.idle = l.idle.PushBack(h)
	l.press(ctx)
}

func (l *ledger) declined(ctx actor.Context, pid *actor.PID) {
	if h := l.holders[pid.Id]; h != nil && h.asked {
		l.unask(h)
		l.press(ctx)
	}
}

// press asks as many idle workers back as holders wait for one.
func (l *ledger) press(ctx actor.Context) {
	for l.asked < l.queue.Len() {
		e := l.idle.Front()
		if e == nil {
			return
		}
		h := e.Value.(*holder)
		l.unidle(h)
		h.asked = true
		l.asked++
		ctx.Send(h.pid, &Wanted{})
	}
}

// gone frees everything of a holder that stopped.
func (l *ledger) gone(ctx actor.Context, pid *actor.PID) {
	h := l.holders[pid.Id]
	if h == nil {
		return
	}
	delete(l.holders, pid.Id)
	l.dequeue(h)
	for k := range kinds {
		l.release(ctx, h, k)
	}
}

func (l *ledger) dequeue(h *holder) {
	if h.queued != nil {
		l.queue.Remove(h.queued)
		h.queued = nil
	}
}

func (l *ledger) unidle(h *holder) {
	if h.idle != nil {
		l.idle.Remove(h.idle)
		h.idle = nil
	}
}

func (l *ledger) unask(h *holder) {
	if h.asked {
		h.asked = false
		l.asked--
	}
}

func (l *ledger) changed(h *holder, k Kind, taken bool) {
	if k == Slot && l.onChange != nil {
		l.onChange(Change{Name: h.name, Taken: taken, Held: l.held[Slot]})
	}
}

func (l *ledger) counts() *Counts {
	return &Counts{
		Slots:   Level{Held: l.held[Slot], Limit: l.limit[Slot]},
		Workers: Level{Held: l.held[Worker], Limit: l.limit[Worker]},
		Waiting: l.queue.Len(),
	}
}
