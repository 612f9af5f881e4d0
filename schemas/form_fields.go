package schemas

func (a *Address) fields(f *form) {
	textField(f, "host", &a.Host)
	textField(f, "run", &a.Run)
	textField(f, "cell", &a.Cell)
}

func (i *Identity) fields(f *form) {
	textField(f, "agent", &i.Agent)
	textField(f, "session_id", &i.SessionID)
	textField(f, "session_key", &i.SessionKey)
	textField(f, "run", &i.Run)
	maybeText(f, "sender", &i.Sender)
	maybeText(f, "channel", &i.Channel)
	maybeText(f, "sandbox", &i.Sandbox)
	maybeNumber(f, "depth", &i.Depth)
	f.maybeTrue("restricted", &i.Restricted)
}

func (c *Call) fields(f *form) {
	textField(f, "id", &c.ID)
	f.part("address", &c.Address)
	textField(f, "source", &c.Source)
	textField(f, "owner", &c.Owner)
	textField(f, "tool", &c.Tool)
	f.json("args", &c.Args)
	f.part("identity", &c.Identity)
	textField(f, "parent_id", &c.ParentID)
	maybeText(f, "trace_parent", &c.TraceParent)
	maybeText(f, "idempotency_key", &c.IdempotencyKey)
	maybeNumber(f, "budget_ms", &c.BudgetMs)
	f.maybeTrue("bound", &c.Bound)
}

func (a *Answer) fields(f *form) {
	textField(f, "id", &a.ID)
	textField(f, "executor", &a.Executor)
	textField(f, "state", &a.State)
	f.maybeJSON("value", &a.Value)
	if !f.reading && a.Err != nil {
		f.part("err", a.Err)
	} else if f.reading && f.field("err") {
		a.Err = new(CallError)
		f.object(a.Err)
	}
	f.maybeTrue("untrusted", &a.Untrusted)
}

func (e *CallError) fields(f *form) {
	textField(f, "code", &e.Code)
	maybeText(f, "name", &e.Name)
	textField(f, "message", &e.Message)
	maybeText(f, "location", &e.Location)
	maybeText(f, "effect", &e.Effect)
}

func (e *Exec) fields(f *form) {
	textField(f, "call_id", &e.CallID)
	f.json("input", &e.Input)
	maybeText(f, "trace_parent", &e.TraceParent)
	maybeText(f, "recovers", &e.Recovers)
}

func (c *CallSent) fields(f *form) {
	number(f, "at", &c.At)
	f.part("address", &c.Address)
	textField(f, "call", &c.Call)
	textField(f, "source", &c.Source)
	textField(f, "owner", &c.Owner)
	textField(f, "tool", &c.Tool)
}

func (c *CallStarted) fields(f *form) {
	number(f, "at", &c.At)
	f.part("address", &c.Address)
	textField(f, "call", &c.Call)
	textField(f, "executor", &c.Executor)
}

func (c *CallEnded) fields(f *form) {
	number(f, "at", &c.At)
	f.part("address", &c.Address)
	textField(f, "call", &c.Call)
	textField(f, "outcome", &c.Outcome)
	maybeText(f, "code", &c.Code)
	number(f, "duration_us", &c.DurationUs)
}

func (c *CellStarted) fields(f *form) {
	number(f, "at", &c.At)
	f.part("address", &c.Address)
	textField(f, "title", &c.Title)
}

func (c *CellEnded) fields(f *form) {
	number(f, "at", &c.At)
	f.part("address", &c.Address)
	textField(f, "status", &c.Status)
	maybeText(f, "code", &c.Code)
	number(f, "calls", &c.Calls)
	number(f, "duration_us", &c.DurationUs)
}

func (s *SlotTaken) fields(f *form) {
	number(f, "at", &s.At)
	textField(f, "host", &s.Host)
	textField(f, "cell", &s.Cell)
	number(f, "held", &s.Held)
}

func (s *SlotFreed) fields(f *form) {
	number(f, "at", &s.At)
	textField(f, "host", &s.Host)
	textField(f, "cell", &s.Cell)
	number(f, "held", &s.Held)
}
