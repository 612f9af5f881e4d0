package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// stages is every stage of a pipeline, noting what it sees.
type stages struct {
	log     []string
	rewrite schemas.JSON
	say     map[string]error
	panics  string
}

func (s *stages) note(stage string, args schemas.JSON) error {
	s.log = append(s.log, strings.TrimSpace(stage+" "+string(args)))
	if s.panics == stage {
		panic("secret")
	}
	return s.say[stage]
}

func (s *stages) Before(_ context.Context, call *schemas.Call, _ *schemas.Tool) (Ruling, error) {
	return Ruling{Args: s.rewrite}, s.note("before", call.Args)
}

func (s *stages) Approve(_ context.Context, call *schemas.Call, _ *schemas.Tool, _ string, _ func(string)) error {
	return s.note("approve", call.Args)
}

func (s *stages) After(_ context.Context, r *Record) error { _ = s.note("after", r.Value); return nil }

func (s *stages) Record(r *Record) {
	_ = s.note(fmt.Sprintf("record dispatched=%v", r.Dispatched), r.Args)
}

func (s *stages) pipeline() *Pipeline {
	return &Pipeline{
		Policy: func(call *schemas.Call, _ *schemas.Tool) error { return s.note("policy", nil) },
		Before: []Before{s}, Approval: s, After: []After{s}, Recorder: s,
		Dispatching: func(*schemas.Call) { _ = s.note("dispatching", nil) },
	}
}

var strictTool = schemas.Tool{
	Source: schemas.SourceNative, Owner: "p", Name: "t", Approval: true,
	Parameters: schemas.JSON(`{"type":"object","properties":{"n":{"type":"integer"},"d":{"type":"integer","default":1}},"required":["n"],"additionalProperties":false}`),
	Output:     schemas.JSON(`{"type":"object","properties":{"ok":{"type":"boolean"},"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"integer"},"e":{"type":"integer"},"f":{"type":"integer"}},"required":["ok"]}`),
}

func (s *stages) run(ctx context.Context, args, result string, fail error) (schemas.JSON, *schemas.CallError) {
	call := callOf("t", "1", args)
	return s.pipeline().run(ctx, call, newContract(strictTool), func(_ context.Context, call *schemas.Call) (schemas.JSON, error) {
		return schemas.JSON(result), errors.Join(s.note("tool", call.Args), fail)
	}, nil, quiet)
}

func (s *stages) went() string { return strings.Join(s.log, " | ") }

func TestSpec_P1_StagesInOrder(t *testing.T) {
	var s stages
	value, fail := s.run(context.Background(), `{"n":7}`, `{"ok":true}`, nil)
	if fail != nil || string(value) != `{"ok":true}` {
		t.Errorf("%s %v", value, fail)
	}
	const want = `policy | before {"n":7,"d":1} | approve {"n":7,"d":1} | dispatching | tool {"n":7,"d":1} | after {"ok":true} | record dispatched=true {"n":7,"d":1}`
	if got := s.went(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestSpec_P1_RewrittenInputIsValidatedAgain(t *testing.T) {
	s := stages{rewrite: schemas.JSON(`{"n":8}`)}
	if _, fail := s.run(context.Background(), `{"n":7}`, `{"ok":true}`, nil); fail != nil || !strings.Contains(s.went(), `tool {"n":8,"d":1}`) {
		t.Errorf("%v %s", fail, s.went())
	}
	s = stages{rewrite: schemas.JSON(`{"n":"8"}`)}
	_, fail := s.run(context.Background(), `{"n":7}`, `{"ok":true}`, nil)
	if fail == nil || fail.Code != schemas.CallInputContract || fail.Location != atHook || fail.Effect != schemas.NotStarted || strings.Contains(s.went(), "tool") {
		t.Errorf("%+v %s", fail, s.went())
	}
}

// Whatever says no before the dispatch, in whatever way, the tool isn't called, and the
// failure says who said it (P3, case 72).
func TestSpec_P3_ARefusalNeverReachesTheTool(t *testing.T) {
	for _, c := range []struct {
		stage, location string
		code            schemas.CallCode
	}{{"policy", atPolicy, schemas.CallInvalidInput}, {"before", atHook, schemas.CallInvalidInput}, {"approve", atApproval, schemas.CallInvalidInput}} {
		for _, panics := range []bool{false, true} {
			s := stages{say: map[string]error{c.stage: errors.New("because of rule 7")}}
			if panics {
				s = stages{panics: c.stage}
			}
			_, fail := s.run(context.Background(), `{"n":7}`, `{"ok":true}`, nil)
			if fail == nil || fail.Code != c.code || fail.Location != c.location || fail.Effect != schemas.NotStarted {
				t.Errorf("%s: %+v", c.stage, fail)
				continue
			}
			if !panics && !strings.Contains(fail.Message, "rule 7") || strings.Contains(fail.Message, "secret") {
				t.Errorf("%s: %s", c.stage, fail.Message)
			}
			if w := s.went(); strings.Contains(w, "tool") || strings.Contains(w, "after") || !strings.Contains(w, "record dispatched=false") {
				t.Errorf("%s: %s", c.stage, w)
			}
		}
	}
}

func TestSpec_P5_BadInputIsRefusedBeforeEverything(t *testing.T) {
	for args, want := range map[string]string{
		`{}`: "n: expected an integer, but it is missing", `{"m":1}`: `did you mean "n"`, `[]`: "not an array", `"x"`: "not a string",
		`null`: "not null", `7`: "not a number", `true`: "not a boolean", `{"n":1`: "JSON", `{"n":1} x`: "JSON", ``: "missing", `{"n":1e99999}`: "too large",
	} {
		var s stages
		_, fail := s.run(context.Background(), args, `{"ok":true}`, nil)
		if fail == nil || fail.Code != schemas.CallInputContract || fail.Location != atInput || fail.Effect != schemas.NotStarted || !strings.Contains(fail.Message, want) {
			t.Errorf("%s: %+v, want %q", args, fail, want)
		}
		if w := s.went(); !strings.HasPrefix(w, "record dispatched=false") {
			t.Errorf("%s: %s", args, w)
		}
	}
}

func TestSpec_P5_BadOutputNamesFieldsNotValues(t *testing.T) {
	for result, want := range map[string]string{
		`{"ok":"SECRET"}`: "ok: expected true or false", `{}`: "ok:", `"SECRET"`: "expected an object", ``: "it returned nothing", `{SECRET`: "JSON",
		`{"a":"SECRET","b":"SECRET","c":"SECRET","d":"SECRET","e":"SECRET","f":"SECRET","ok":true}`: "a: expected",
	} {
		var s stages
		value, fail := s.run(context.Background(), `{"n":1}`, result, nil)
		if len(value) > 0 || fail == nil || fail.Code != schemas.CallOutputContract || fail.Location != atOutput || fail.Effect != schemas.Done ||
			!strings.Contains(fail.Message, want) || !strings.Contains(fail.Message, "effects may have happened") {
			t.Errorf("%s: %s %+v", result, value, fail)
			continue
		}
		if strings.Contains(fail.Message, "SECRET") || strings.Count(fail.Message, "expected") > 5 {
			t.Errorf("%s: %s", result, fail.Message)
		}
		if w := s.went(); !strings.Contains(w, "after | record dispatched=true") {
			t.Errorf("%s", w)
		}
	}
}

func TestSpec_P5_AnInvalidSchemaStopsTheCall(t *testing.T) {
	for _, tool := range []schemas.Tool{
		{Name: "t", Output: schemas.JSON(`{"type":7}`)}, {Name: "t", Parameters: schemas.JSON(`{"$ref":"http://example.com/x"}`)}, {Name: "t", Parameters: schemas.JSON(`{`)},
	} {
		var s stages
		_, fail := s.pipeline().run(context.Background(), callOf("t", "1", "{}"), newContract(tool), nil, nil, quiet)
		if fail == nil || fail.Code != schemas.CallInvalidContract || fail.Effect != schemas.NotStarted {
			t.Errorf("%+v", fail)
		}
	}
}

// Case 74: what was prepared before an abort doesn't run after it.
func TestSpec_P1_Case74_AnAbortBetweenTheStagesStopsTheCall(t *testing.T) {
	ctx, abort := context.WithCancel(context.Background())
	var s stages
	p := s.pipeline()
	p.Approval = approverFunc(func() error { abort(); return nil })
	_, fail := p.run(ctx, callOf("t", "1", `{"n":1}`), newContract(strictTool), func(context.Context, *schemas.Call) (schemas.JSON, error) {
		t.Error("the tool ran")
		return nil, nil
	}, nil, quiet)
	if fail == nil || fail.Effect != schemas.NotStarted {
		t.Errorf("%+v", fail)
	}
}

type approverFunc func() error

func (f approverFunc) Approve(context.Context, *schemas.Call, *schemas.Tool, string, func(string)) error {
	return f()
}

func TestSpec_E3_ToolErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want schemas.CallError
	}{
		{errors.New("no"), schemas.CallError{Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed, Message: "no"}},
		{errors.New(""), schemas.CallError{Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed, Message: "t failed without saying why"}},
		{fmt.Errorf("wrapped: %w", &schemas.CallError{Message: "own"}), schemas.CallError{Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed, Message: "own"}},
		{&schemas.CallError{Code: schemas.CallInvalidInput, Name: "RangeError", Location: "x", Effect: schemas.Unknown, Message: "m"},
			schemas.CallError{Code: schemas.CallInvalidInput, Name: "RangeError", Location: "x", Effect: schemas.Unknown, Message: "m"}},
		{context.Canceled, schemas.CallError{Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed, Message: "t was cancelled while it ran"}},
	} {
		if got := toolFailure("t", c.err); *got != c.want {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
	long := toolFailure("t", errors.New(strings.Repeat("é", maxMessageBytes)+"\xff"))
	if len(long.Message) > maxMessageBytes || !strings.HasSuffix(long.Message, "é [truncated]") {
		t.Errorf("%d bytes", len(long.Message))
	}
}

func TestSpec_G1_Native(t *testing.T) {
	for _, c := range []struct {
		details string
		isError bool
		text    string
		want    string
	}{
		{`{"a":1}`, false, "text", `{"a":1}`},
		{``, false, "text", ``},
		{`{"a":1}`, true, "<no>", `{"a":1,"message":"<no>"}`},
		{` {"a":{"b":1} } `, true, "no", `{"a":{"b":1} ,"message":"no"}`},
		{`{}`, true, "no", `{"message":"no"}`},
		{`{ }`, true, "no", `{ "message":"no"}`},
		{`{"message":"own"}`, true, "no", `{"message":"own"}`},
		{``, true, "no", `{"message":"no"}`},
		{`[1]`, true, "no", `[1]`},
		{`{"a":1}`, true, "", `{"a":1}`},
		{`{"id":12345678901234567890}`, true, "no", `{"id":12345678901234567890,"message":"no"}`},
	} {
		if got := string(Native(schemas.JSON(c.details), c.isError, c.text)); got != c.want {
			t.Errorf("%s %v %q: %s", c.details, c.isError, c.text, got)
		}
	}
}

func TestFuncs_RefuseWhatCanNotBeServed(t *testing.T) {
	ok := func(context.Context, schemas.JSON) (schemas.JSON, error) { return nil, nil }
	for want, tools := range map[string][]Func{
		"no name": {raw("", ok)}, "no function": {raw("x", nil)}, "there twice": {raw("x", ok), raw("x", ok)},
		"must be a struct": {New("x", "", func(context.Context, int) (int, error) { return 0, nil })},
		"chan":             {New("x", "", func(context.Context, struct{ C chan int }) (int, error) { return 0, nil })},
	} {
		if _, err := Funcs("p", tools...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Funcs(""); err == nil {
		t.Error("an empty owner is taken")
	}
}

func TestNew_SchemasAndValues(t *testing.T) {
	type inner struct {
		At int64 `json:"at"`
	}
	type input struct {
		ID    int64    `json:"id" jsonschema:"which one"`
		Tags  []string `json:"tags,omitempty"`
		Inner *inner   `json:"inner,omitempty"`
	}
	f := New("x", "does x", func(_ context.Context, in input) (any, error) {
		return map[string]any{"id": in.ID, "html": "<a&b>"}, nil
	}, ReplaySafe(), Idempotent(), Sequential(), OwnerOnly(), Label("X"))
	set := funcs(t, "p", f)
	tool := set.Offer().Tools[0]
	if !tool.ReplaySafe || !tool.Idempotent || !tool.Sequential || !tool.OwnerOnly || tool.Label != "X" || len(tool.Output) > 0 {
		t.Errorf("%+v", tool)
	}
	if s := string(tool.Parameters); !strings.Contains(s, `"additionalProperties":false`) || !strings.Contains(s, `"which one"`) || !strings.Contains(s, `"required":["id"]`) {
		t.Error(s)
	}
	got, err := set.Call(context.Background(), callOf("x", "1", `{"id":9007199254740993}`), nil)
	if err != nil || string(got) != `{"html":"<a&b>","id":9007199254740993}` {
		t.Errorf("%s %v", got, err)
	}
	if _, err := set.Call(context.Background(), callOf("gone", "1", `{}`), nil); err == nil {
		t.Error("a tool that is not there ran")
	}
}
