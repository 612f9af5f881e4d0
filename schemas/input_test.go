package schemas_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

func execInput(t *testing.T, text string) schemas.ExecInput {
	t.Helper()
	in, err := schemas.ParseExecInput(schemas.JSON(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return in
}

// refuse checks that the input is refused for the field, with a message that says the words.
func refuse(t *testing.T, err *schemas.Error, text, field, words string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: accepted", text)
		return
	}
	if !errors.Is(err, schemas.InvalidInput) || err.Field != field || !strings.Contains(err.Message, words) {
		t.Errorf("%s: field %q, %q; want field %q, %q", text, err.Field, err.Message, field, words)
	}
}

// TestSpec_X1_Alias is case 70: command is an alias of code.
func TestSpec_X1_Alias(t *testing.T) {
	want := schemas.ExecInput{Title: "t", Code: "return 1"}
	for _, text := range []string{
		`{"title":"t","code":"return 1"}`,
		`{"title":"t","command":"return 1"}`,
		`{"title":"t","code":"return 1","command":"return 1"}`,
		`{"title":"t","code":"return 1","command":""}`,
		`{"title":"t","code":"return 1","command":" \n\t"}`,
		`{"title":"t","code":"return 1","command":null}`,
		`{"title":"t","code":" ","command":"return 1"}`,
		`{"title":"t","code":null,"command":"return 1"}`,
	} {
		if d := cmp.Diff(want, execInput(t, text)); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	for text, field := range map[string]string{
		`{"title":"t","code":"return 1","command":"return 2"}`:  "command",
		`{"title":"t","code":"return 1","command":"return 1 "}`: "command",
		`{"title":"t","code":"return 1","command":3}`:           "command",
		`{"title":"t","code":"","command":""}`:                  "code",
	} {
		_, err := schemas.ParseExecInput(schemas.JSON(text))
		refuse(t, err, text, field, field+": ")
	}
}

// TestSpec_X1_Rewrite is the other half of case 70: what hooks may do to the program.
func TestSpec_X1_Rewrite(t *testing.T) {
	before := schemas.ExecInput{Title: "t", Code: "return 1", RestartSafe: true}
	if got, err := before.Rewritten(before.JSON()); err != nil || got != before {
		t.Errorf("nothing changed: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		`{"title":"t","code":"return 1","command":"return 2"}`: "return 2",
		`{"title":"t","code":"return 2","command":"return 1"}`: "return 2",
		`{"title":"t","code":"return 2","command":"return 2"}`: "return 2",
		`{"title":"t","command":"return 2"}`:                   "return 2",
		`{"title":"t","code":"return 2"}`:                      "return 2",
	} {
		if got, err := before.Rewritten(schemas.JSON(text)); err != nil || got.Code != want {
			t.Errorf("%s: %q, %v", text, got.Code, err)
		}
	}
	for text, field := range map[string]string{
		`{"title":"t","code":"return 2","command":"return 3"}`: "command",
		`{"title":"t","code":"return 1","command":""}`:         "command",
		`{"title":"t","code":"return 1","command":null}`:       "command",
		`{"title":"t","code":"return 1","command":7}`:          "command",
		`{"title":"t","code":" ","command":"return 1"}`:        "code",
		`{"title":"t","code":[],"command":"return 1"}`:         "code",
		`{"title":"t"}`: "code",
		`[]`:            "",
	} {
		_, err := before.Rewritten(schemas.JSON(text))
		refuse(t, err, text, field, "")
	}
}

func TestSpec_X2_LanguageAndTypecheck(t *testing.T) {
	for _, field := range []string{"language", "typecheck"} {
		text := `{"title":"t","code":"return 1","` + field + `":"typescript"}`
		_, err := schemas.ParseExecInput(schemas.JSON(text))
		refuse(t, err, text, field, "remove this field")
	}
}

func TestSpec_X0_Fields(t *testing.T) {
	long := strings.Repeat("é", schemas.MaxTitle)
	if got := execInput(t, `{"title":"`+long+`","code":"1","restartSafe":true,"awaitResults":true}`); got.Title != long || !got.RestartSafe || !got.AwaitResults {
		t.Errorf("%+v", got)
	}
	if got := execInput(t, `{"title":" two\n\tlines\u001b[31m ","code":"1","restartSafe":null,"awaitResults":false}`); got.Title != "two lines [31m" || got.RestartSafe || got.AwaitResults {
		t.Errorf("%+v", got)
	}
	for _, tc := range []struct{ text, field, words string }{
		{`{"code":"1"}`, "title", "short title"},
		{`{"title":"","code":"1"}`, "title", "short title"},
		{`{"title":"  ","code":"1"}`, "title", "short title"},
		{`{"title":"\u0000","code":"1"}`, "title", "short title"},
		{`{"title":null,"code":"1"}`, "title", "short title"},
		{`{"title":5,"code":"1"}`, "title", "expected a string, got a number"},
		{`{"title":"` + long + `x","code":"1"}`, "title", "at most 120 characters, got 121"},
		{`{"title":"t"}`, "code", "JavaScript program"},
		{`{"title":"t","code":" \n"}`, "code", "JavaScript program"},
		{`{"title":"t","code":{}}`, "code", "expected a string, got an object"},
		{`{"title":"t","code":["a"]}`, "code", "an array"},
		{`{"title":"t","code":true}`, "code", "true or false"},
		{`{"title":"t","code":"1","restartSafe":"true"}`, "restartSafe", "expected true or false, got a string"},
		{`{"title":"t","code":"1","awaitResults":1}`, "awaitResults", "expected true or false, got a number"},
		{`{"title":"t","code":"1","restart_safe":true}`, "restart_safe", `did you mean "restartSafe"?`},
		{`{"title":"t","code":"1","cwd":"/"}`, "cwd", "remove it"},
		{`{"title":"t","code":"1","` + strings.Repeat("x", 9999) + `":1}`, strings.Repeat("x", 40) + "…", "remove it"},
		{`{"title":"t","code":"` + strings.Repeat("x", schemas.MaxCodeBytes+1) + `"}`, "code", "at most"},
		{`{"title":"` + strings.Repeat("x", schemas.MaxInputBytes) + `"}`, "", "longer"},
		{`"code"`, "", "JSON object"},
		{`null`, "", "JSON object"},
		{``, "", "JSON object"},
		{`{"title":`, "", "JSON object"},
		{strings.Repeat("[", 10000), "", "nested"},
	} {
		_, err := schemas.ParseExecInput(schemas.JSON(tc.text))
		refuse(t, err, schemas.Prefix(tc.text, 60), tc.field, tc.words)
	}
}

// TestFence is case 8d: a program in a markdown fence runs, with its own line numbers.
func TestFence(t *testing.T) {
	for code, want := range map[string]string{
		"```js\nreturn 1\n```":             "\nreturn 1\n",
		"```\nreturn 1\n```\n":             "\nreturn 1\n",
		"\n\n```javascript\nreturn 1\n```": "\n\n\nreturn 1\n",
		"```ts\r\nreturn 1\r\n```":         "\nreturn 1\r\n",
		"````js\nconst f = `x`\n````":      "\nconst f = `x`\n",
		"return `\n```js\nx\n```\n`":       "return `\n```js\nx\n```\n`",
	} {
		b, _ := json.Marshal(map[string]string{"title": "t", "code": code})
		if got := execInput(t, string(b)).Code; got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
	for code, words := range map[string]string{
		"```bash\nls\n```":              "plain JavaScript",
		"```python\nx\n```":             "plain JavaScript",
		"```js\nreturn 1":               "remove the markdown fence",
		"```js\n```":                    "remove the markdown fence",
		"```":                           "remove the markdown fence",
		"```js\nreturn 1\n```\nThanks!": "remove the markdown fence",
	} {
		b, _ := json.Marshal(map[string]string{"title": "t", "code": code})
		_, err := schemas.ParseExecInput(b)
		refuse(t, err, code, "code", words)
	}
}

// TestCase9_Escapes: the program is decoded once.
func TestCase9_Escapes(t *testing.T) {
	got := execInput(t, `{"title":"t","code":"const s=\"a\\\\nb\\tc\\\"\u2028😀\"; return s.length"}`).Code
	if want := "const s=\"a\\\\nb\\tc\\\"\u2028😀\"; return s.length"; got != want {
		t.Errorf("%q", got)
	}
}

func TestSpec_W2_WaitInput(t *testing.T) {
	if in, err := schemas.ParseWaitInput(schemas.JSON(`{"runId":" Ab_-9\n"}`)); err != nil || in.RunID != "Ab_-9" {
		t.Errorf("%+v, %v", in, err)
	}
	for _, tc := range []struct{ text, field, words string }{
		{`{}`, "runId", "give the runId"},
		{`{"runId":" "}`, "runId", "give the runId"},
		{`{"runId":7}`, "runId", "expected a string"},
		{`{"runId":"a.b"}`, "runId", "isn't an id"},
		{`{"runId":"a.>"}`, "runId", "isn't an id"},
		{`{"runId":"` + strings.Repeat("a", 129) + `"}`, "runId", "isn't an id"},
		{`{"run_id":"a"}`, "run_id", `did you mean "runId"?`},
		{`[]`, "", "JSON object"},
	} {
		_, err := schemas.ParseWaitInput(schemas.JSON(tc.text))
		refuse(t, err, tc.text, tc.field, tc.words)
	}
}

// TestSpec_A7_FlatSchemas: providers refuse alternatives in the schemas of tools. What a schema
// admits, the parser admits.
func TestSpec_A7_FlatSchemas(t *testing.T) {
	for name, raw := range map[string]schemas.JSON{"exec": schemas.ExecInputSchema(), "wait": schemas.WaitInputSchema(), "result": schemas.ResultSurfaceSchema()} {
		for _, word := range []string{"oneOf", "anyOf", "allOf", "$ref", "$defs", `"not"`, `"if"`} {
			if strings.Contains(string(raw), word) {
				t.Errorf("%s: has %s", name, word)
			}
		}
		if _, err := schemas.Compile(raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := compile(t, string(schemas.ExecInputSchema()))
	for text, ok := range map[string]bool{
		`{"title":"t","code":"return 1"}`:                                         true,
		`{"title":"t","code":"return 1","restartSafe":true,"awaitResults":false}`: true,
		`{"title":"t"}`:                  false,
		`{"code":"return 1"}`:            false,
		`{"title":"t","code":"1","x":1}`: false,
		`{"title":"` + strings.Repeat("é", 121) + `","code":"1"}`: false,
	} {
		_, err := schemas.ParseExecInput(schemas.JSON(text))
		if valid := len(s.Validate(schemas.JSON(text))) == 0; valid != ok || (err == nil) != ok {
			t.Errorf("%s: schema %v, parser %v", text, valid, err)
		}
	}
}

func FuzzParseExecInput(f *testing.F) {
	f.Add([]byte(`{"title":"t","code":"` + "```js\\nreturn 1\\n```" + `"}`))
	f.Add([]byte(`{"title":"t","command":"\ud800"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := schemas.ParseExecInput(b)
		if err != nil {
			if err.Code != schemas.InvalidInput || err.Message == "" {
				t.Fatalf("%+v", err)
			}
			return
		}
		if in.Title == "" || utf8.RuneCountInString(in.Title) > schemas.MaxTitle || strings.TrimSpace(in.Code) == "" {
			t.Fatalf("%+v", in)
		}
	})
}

func BenchmarkParseExecInput(b *testing.B) {
	code := strings.Repeat("const list = await tools.read({path: \"a\\tb\"})\nreturn list.length\n", 10)
	input := schemas.ExecInput{Title: "Count the files", Code: code}.JSON()
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schemas.ParseExecInput(input); err != nil {
			b.Fatal(err)
		}
	}
}
