package schemas

import (
	"bytes"
	"errors"

	"github.com/vmihailenco/msgpack/v5"
)

// Phases in which hooks are asked (P1).
const (
	// BeforeToolCall: before a call is dispatched. A hook may block it, rewrite its input, or ask for an approval.
	BeforeToolCall = "before_tool_call"
	// AfterToolCall: after a call was dispatched and has ended. A hook may withhold what it returned.
	AfterToolCall = "after_tool_call"
)

// What an event of a cell itself, rather than of one of its calls, says of its tool (X8).
const (
	ToolKindExec        = "code_mode_exec"
	ToolInputJavaScript = LanguageJavaScript
	// ToolInputTypeScript is said of programs of [Contract202607] only (J1).
	ToolInputTypeScript = LanguageTypeScript
)

// HookEvent asks one hook about one call: codecell.v1.hook.<phase>.<hook>
type HookEvent struct {
	Phase string `msgpack:"phase" json:"phase"`
	Hook  string `msgpack:"hook" json:"hook"`
	// Tool is the tool's own name; for a program it is "exec", with ToolKind and ToolInputKind set, which
	// no other tool's events have (X8).
	Tool          string `msgpack:"tool" json:"tool"`
	ToolKind      string `msgpack:"tool_kind,omitempty" json:"toolKind,omitempty"`
	ToolInputKind string `msgpack:"tool_input_kind,omitempty" json:"toolInputKind,omitempty"`
	Source        Source `msgpack:"source,omitempty" json:"source,omitempty"`
	Owner         string `msgpack:"owner,omitempty" json:"owner,omitempty"`
	// Call is the id of the call; ParentID is the tool-call id of the exec that a nested call came from.
	Call        string   `msgpack:"call" json:"call"`
	ParentID    string   `msgpack:"parent_id,omitempty" json:"parentId,omitempty"`
	Address     Address  `msgpack:"address" json:"address"`
	Identity    Identity `msgpack:"identity" json:"identity"`
	TraceParent string   `msgpack:"trace_parent,omitempty" json:"traceParent,omitempty"`
	// Input is the JSON object of arguments as it would be, or was, dispatched.
	Input JSON `msgpack:"input" json:"input"`
	// After a call: how it ended.
	Value      JSON       `msgpack:"value,omitempty" json:"value,omitempty"`
	Err        *CallError `msgpack:"err,omitempty" json:"error,omitempty"`
	DurationUs int64      `msgpack:"duration_us,omitempty" json:"durationUs,omitempty"`
}

// Verdict is a hook's answer. The zero Verdict lets the call pass as it is.
type Verdict struct {
	// Block refuses the call; after it was made, it withholds what the call returned.
	Block bool `msgpack:"block,omitempty" json:"block,omitempty"`
	// Ask demands an approval before the call is dispatched.
	Ask bool `msgpack:"ask,omitempty" json:"ask,omitempty"`
	// Reason is why: the program, or whoever decides, reads it.
	Reason string `msgpack:"reason,omitempty" json:"reason,omitempty"`
	// Input replaces the arguments, if it isn't empty. It is validated like any other input.
	Input JSON `msgpack:"input,omitempty" json:"input,omitempty"`
	// Err is why the hook could not decide. It counts as no answer: the call fails closed.
	Err *Error `msgpack:"err,omitempty" json:"err,omitempty"`
}

// DecodeMsgpack reads a verdict. Unknown fields are skipped as ever, but one that has no other fields is refused: who
// misspells "block" doesn't mean that the call may pass.
func (v *Verdict) DecodeMsgpack(d *msgpack.Decoder) error {
	raw, err := d.DecodeRaw()
	if err != nil {
		return err
	}
	type plain Verdict
	if err := msgpack.Unmarshal(raw, (*plain)(v)); err != nil {
		return err
	}
	keys := msgpack.NewDecoder(bytes.NewReader(raw))
	n, err := keys.DecodeMapLen()
	if err != nil || n <= 0 {
		return err
	}
	for range n {
		key, err := keys.DecodeString()
		if err != nil {
			return err
		}
		switch key {
		case "block", "ask", "reason", "input", "err":
			return nil
		}
		if err := keys.Skip(); err != nil {
			return err
		}
	}
	return errNoVerdict
}

var errNoVerdict = errors.New("no field of the verdict is known: expected block, ask, reason, input or err, or none at all")
