package cell

import (
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// do does one effect. Nothing here blocks.
func (s *shell) do(e Effect) {
	switch e := e.(type) {
	case RunLeg:
		s.guest.run(e, func(done LegDone) { s.root.Send(s.self, &legDone{done}) })
	case StopLeg:
		s.guest.stop()
	case Park:
		s.guest.freeze(func(done Event) { s.root.Send(s.self, &parkDone{done}) })
	case DropGuest:
		s.guest.drop()
	case Dispatch:
		s.dispatch(e.Call)
	case CancelCall:
		s.spec.Port.Cancel(e.ID)
	case Settle:
		s.spec.Port.Settled(e.Settled)
	case Commit:
		s.spec.Port.Commit(e.Tainted, func(warning string) { s.root.Send(s.self, &committed{warning}) })
	case Respond:
		for _, o := range e.To {
			o.answer(e.Result)
		}
	case Tell:
		s.spec.Port.Fact(e.Fact)
	case SetTimer:
		s.setTimer(e)
	case ClearTimer:
		s.timers.clear(e.Timer)
	case Stop:
		s.guest.abandon()
		s.end(&Ended{Result: e.Result, Waits: e.Waits})
	default:
		s.tellLedger(e)
	}
}

func (s *shell) tellLedger(e Effect) {
	var m any
	switch e := e.(type) {
	case AskWorker:
		m = &slot.Ask{Holder: s.self, Kind: slot.Worker, Ticket: e.Ticket, Name: s.spec.Address.Cell}
	case AskSlot:
		m = &slot.Ask{Holder: s.self, Kind: slot.Slot, Ticket: e.Ticket, Name: s.spec.Address.Cell}
	case FreeWorker:
		m = &slot.Free{Holder: s.self, Kind: slot.Worker}
	case FreeSlot:
		m = &slot.Free{Holder: s.self, Kind: slot.Slot}
	case IdleWorker:
		m = &slot.Idle{Holder: s.self}
	case BusyWorker:
		m = &slot.Busy{Holder: s.self}
	}
	s.root.Send(s.deps.Ledger, m)
}

// dispatch hands a call to the run. A refusal comes back like any other answer, after the effects of
// this step.
func (s *shell) dispatch(c Call) {
	switch err := s.spec.Port.Dispatch(c); err {
	case nil:
	case KeptBack: // known before its turn can come
		s.queue = append(s.queue, Answer{At: time.Now(), ID: c.ID, State: keptBack})
	default:
		s.queue = append(s.queue, Answer{At: time.Now(), ID: c.ID, State: schemas.AnswerFailed, Err: err})
	}
}
