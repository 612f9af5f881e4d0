package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the exec and wait inputs.
const (
	// MaxTitle is the longest title, in characters.
	MaxTitle = 120
	// MaxCodeBytes is the longest program, in bytes of UTF-8.
	MaxCodeBytes = 512 << 10
	// MaxInputBytes is the longest input of either tool.
	MaxInputBytes = 1 << 20
	maxRunID      = 128
)

// ExecInput is what exec was asked to do.
type ExecInput struct {
	// Title is one line of 1 to [MaxTitle] characters.
	Title string
	// Code is the program. Its lines have the numbers that they have in the submitted text.
	Code         string
	RestartSafe  bool
	AwaitResults bool
	// Language is that of a program of [Contract202607], and empty under the current contract, which has one.
	Language string
}

// WaitInput is what wait was asked for. RunID has only letters, digits, "_" and "-".
type WaitInput struct{ RunID string }

var (
	execFields = []string{"title", "code", "command", "restartSafe", "awaitResults"}
	waitFields = []string{"runId"}
)

// ParseExecInput checks the input of exec and brings it into one form (X1, X2).
//
//   - "command" is an alias of "code". A blank one counts as absent; if both are given they must
//     be equal.
//   - A null counts as absent, since some providers send null for every optional field.
//   - An unknown field is refused, with the name that was probably meant. Ignoring it would be
//     kinder to models that add fields, but a misspelt restartSafe would lose a safety demand
//     without a word, and nothing has been started yet: correcting it costs one turn.
//   - A program inside one markdown code fence is taken out of it. The fence's line stays as an
//     empty one, so that line numbers hold. A fence for another language is refused.
func ParseExecInput(input JSON) (ExecInput, *Error) {
	var in ExecInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	if err := f.plainJavaScript(); err != nil {
		return in, err
	}
	if err := f.known(execFields); err != nil {
		return in, err
	}
	title, err := f.text("title")
	if err != nil {
		return in, err
	}
	if in.Title, err = oneLine(title); err != nil {
		return in, err
	}
	if in.Code, err = f.program(); err != nil {
		return in, err
	}
	if in.RestartSafe, err = f.flag("restartSafe"); err != nil {
		return in, err
	}
	in.AwaitResults, err = f.flag("awaitResults")
	return in, err
}

// ParseWaitInput checks the input of wait.
func ParseWaitInput(input JSON) (WaitInput, *Error) {
	var in WaitInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	if err := f.known(waitFields); err != nil {
		return in, err
	}
	id, err := f.text("runId")
	if err != nil {
		return in, err
	}
	id = strings.TrimSpace(id)
	if id == "" {
		return in, Refuse("runId", `runId: give the runId of a result with status "waiting"`)
	}
	if len(id) > maxRunID || strings.IndexFunc(id, func(r rune) bool { return !idRune(r) }) >= 0 {
		return in, Refuse("runId", `runId: this isn't an id that a result has given: copy it from a result with status "waiting"`)
	}
	in.RunID = id
	return in, nil
}

func idRune(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// JSON gives the input in the form that [ParseExecInput] reads. Hooks see the program under both
// of its names (X1).
func (in ExecInput) JSON() JSON {
	if in.Language != "" {
		return in.json202607()
	}
	return marshal(struct {
		Title        string `json:"title"`
		Code         string `json:"code"`
		Command      string `json:"command"`
		RestartSafe  bool   `json:"restartSafe,omitempty"`
		AwaitResults bool   `json:"awaitResults,omitempty"`
	}{in.Title, in.Code, in.Code, in.RestartSafe, in.AwaitResults})
}

// Rewritten reads what a hook or a policy made of [ExecInput.JSON]. It may change either name of
// the program, or both alike. If it blanks or mistypes one, the program was meant to go: both are
// invalid, and the input is refused rather than run under the other name (X1). The language stays what it was unless it is said.
func (in ExecInput) Rewritten(after JSON) (ExecInput, *Error) {
	f, err := readFields(after)
	if err != nil {
		return ExecInput{}, err
	}
	var given map[string]json.RawMessage // with the nulls that readFields drops: here they blank
	if json.Unmarshal(after, &given) != nil {
		return ExecInput{}, Refuse("", "expected the input to be a JSON object")
	}
	texts := map[string]string{}
	for _, name := range []string{"code", "command"} {
		if _, ok := given[name]; !ok {
			continue // a rewrite may leave an alias out
		}
		text, err := f.text(name)
		if err != nil {
			return ExecInput{}, err
		}
		if strings.TrimSpace(text) == "" {
			return ExecInput{}, Refuse(name, name+": the program was blanked by a hook or a policy; nothing was run")
		}
		texts[name] = text
	}
	code, hasCode := texts["code"]
	command, hasCommand := texts["command"]
	switch {
	case hasCode && hasCommand && code == in.Code:
		f["code"] = f["command"]
	case hasCode && hasCommand && command == in.Code:
		f["command"] = f["code"]
	}
	if in.Language != "" {
		return ParseExecInput202607(f.json(), in.Language)
	}
	return ParseExecInput(f.json())
}

// oneLine makes a title fit for lists: control characters and runs of white space become a space.
func oneLine(title string) (string, *Error) {
	title = strings.Join(strings.FieldsFunc(title, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if title == "" {
		return "", Refuse("title", `title: give a short title that says what the program does ("Count the open issues")`)
	}
	if n := utf8.RuneCountInString(title); n > MaxTitle {
		return "", Refuse("title", fmt.Sprintf("title: at most %d characters, got %d: shorten it", MaxTitle, n))
	}
	return title, nil
}

// plainJavaScript refuses what would say otherwise of the program (X2).
func (f fields) plainJavaScript() *Error {
	if _, ok := f["language"]; ok {
		return Refuse("language", "language: remove this field: programs are always plain JavaScript")
	}
	if _, ok := f["typecheck"]; ok {
		return Refuse("typecheck", "typecheck: remove this field: programs are plain JavaScript and are not type-checked")
	}
	return nil
}

// program reads the program under its two names (X1).
func (f fields) program() (string, *Error) {
	code, err := f.text("code")
	if err != nil {
		return "", err
	}
	command, err := f.text("command")
	if err != nil {
		return "", err
	}
	return program(code, command)
}

// program settles the two names of the program.
func program(code, command string) (string, *Error) {
	hasCode, hasCommand := strings.TrimSpace(code) != "", strings.TrimSpace(command) != ""
	switch {
	case !hasCode && !hasCommand:
		return "", Refuse("code", "code: give the JavaScript program to run")
	case !hasCode:
		code = command
	case hasCommand && command != code:
		return "", Refuse("command", "command: it differs from code, of which it is an alias: give only code")
	}
	if len(code) > MaxCodeBytes {
		return "", Refuse("code", fmt.Sprintf("code: at most %d bytes, got %d: pass large data through tools or store",
			MaxCodeBytes, len(code)))
	}
	return unfence(code)
}

// unfence takes a program out of a markdown code fence that is all of the text.
func unfence(code string) (string, *Error) {
	body := strings.TrimSpace(code)
	if !strings.HasPrefix(body, "```") {
		return code, nil
	}
	lead := strings.Count(code[:strings.Index(code, "```")], "\n")
	info, rest, ok := strings.Cut(strings.TrimLeft(body, "`"), "\n")
	fence := body[:len(body)-len(strings.TrimLeft(body, "`"))]
	inner, closed := strings.CutSuffix(rest, fence)
	if !ok || !closed || strings.TrimSpace(inner) == "" || !strings.HasSuffix(inner, "\n") {
		return "", Refuse("code", "code: remove the markdown fence (```) around the program: give only JavaScript")
	}
	switch language := strings.ToLower(strings.TrimSpace(info)); language {
	case "", "js", "javascript", "mjs", "jsx", "ts", "typescript", "node":
	default:
		return "", Refuse("code", fmt.Sprintf("code: the fence says %q, but programs are plain JavaScript: rewrite it",
			shorten(language, 20)))
	}
	return strings.Repeat("\n", lead+1) + inner, nil
}

// fields are the members of an input object.
type fields map[string]any

func readFields(input JSON) (fields, *Error) {
	if len(input) > MaxInputBytes {
		return nil, Refuse("", fmt.Sprintf("the input is longer than %d bytes: pass large data through tools or store", MaxInputBytes))
	}
	v, ok := quick(input, MaxSchemaDepth)
	if !ok {
		if err := shallow(input, MaxSchemaDepth); err != nil {
			return nil, Refuse("", "the input is "+err.Error())
		}
		v, _ = decodeAny(input)
	}
	f, ok := v.(map[string]any)
	if !ok {
		return nil, Refuse("", "expected the input to be a JSON object")
	}
	maps.DeleteFunc(f, func(_ string, v any) bool { return v == nil })
	return f, nil
}

func (f fields) json() JSON { return marshal(map[string]any(f)) }

// known refuses fields that aren't in the list.
func (f fields) known(names []string) *Error {
	var strangers []string
	for k := range f {
		if !slices.Contains(names, k) {
			strangers = append(strangers, k)
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	k := slices.Min(strangers)
	shown := shorten(k, 40)
	if near := Nearest(k, names); near != "" {
		return Refuse(shown, fmt.Sprintf("%s: there is no such field: did you mean %q?", shown, near))
	}
	return Refuse(shown, fmt.Sprintf("%s: there is no such field: remove it (there are: %s)", shown, strings.Join(names, ", ")))
}

// text reads a string; an absent one is "".
func (f fields) text(name string) (string, *Error) {
	v, given := f[name]
	s, ok := v.(string)
	if given && !ok {
		return "", Refuse(name, name+": expected a string, got "+kindOf(v))
	}
	return s, nil
}

// flag reads true or false; an absent one is false.
func (f fields) flag(name string) (bool, *Error) {
	v, given := f[name]
	b, ok := v.(bool)
	if given && !ok {
		return false, Refuse(name, name+": expected true or false, got "+kindOf(v))
	}
	return b, nil
}

// kindOf names the kind of a decoded JSON value.
func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "true or false"
	default:
		return "a number"
	}
}
