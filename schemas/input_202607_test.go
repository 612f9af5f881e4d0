package schemas_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_J1_ParseExecInput202607(t *testing.T) {
	long := strings.Repeat("é", 300)
	for text, want := range map[string]schemas.ExecInput{
		`{"code":"return 1"}`:         {Title: "return 1", Code: "return 1", Language: "javascript"},
		`{"command":"\n\n\t x \n y"}`: {Title: "x", Code: "\n\n\t x \n y", Language: "javascript"},
		`{"code":"return 1","command":" ","language":"typescript","title":" A\n b "}`: {Title: "A b", Code: "return 1", Language: "typescript"},
		`{"code":"` + long + `"}`:        {Title: long[:2*schemas.MaxTitle], Code: long, Language: "javascript"},
		`{"code":"x","language":null}`:   {Title: "x", Code: "x", Language: "javascript"},
		`{"code":"\u0007\ud83d"}`:        {Title: "\ufffd", Code: "\x07\ufffd", Language: "javascript"},
		"{\"code\":\"```ts\\nx\\n```\"}": {Title: "x", Code: "\nx\n", Language: "javascript"},
	} {
		got, err := schemas.ParseExecInput202607(schemas.JSON(text))
		if err != nil || got != want {
			t.Errorf("%s\ngot  %+v %v\nwant %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{}`: "code: give", `[]`: "expected the input to be a JSON object", `{"code":"x","command":"y"}`: "command: it differs",
		`{"code":"x","language":"TypeScript"}`: "language: expected", `{"code":"x","language":""}`: "", `{"code":"x","awaitResults":true}`: "awaitResults: remove",
		`{"code":"x","languag":"js"}`: `did you mean "language"`, `{"code":1}`: "code: expected a string", `{"code":"x","title":"` + strings.Repeat("a", 121) + `"}`: "title: at most",
	} {
		_, err := schemas.ParseExecInput202607(schemas.JSON(text))
		if want == "" && err != nil || want != "" && (err == nil || err.Code != schemas.InvalidInput || !strings.Contains(err.Message, want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// X1: hooks see a program of the older contract as it was submitted, and may change it and its language.
func TestSpec_X1_RewritesOfTheOlderContract(t *testing.T) {
	before := schemas.ExecInput{Title: "a", Code: "a", Language: "typescript"}
	if text := string(before.JSON()); text != `{"code":"a","command":"a","language":"typescript"}` {
		t.Error(text)
	}
	for text, want := range map[string]schemas.ExecInput{
		`{"code":"b","command":"a","language":"typescript"}`: {Title: "b", Code: "b", Language: "typescript"},
		`{"command":"c","language":"javascript"}`:            {Title: "c", Code: "c", Language: "javascript"},
		`{"code":"d"}`: {Title: "d", Code: "d", Language: "typescript"},
	} {
		if got, err := before.Rewritten(schemas.JSON(text)); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{`{"code":"","command":"a"}`, `{"code":"a","command":null}`, `{"code":"a","language":"python"}`, `{"title":"x"}`} {
		if got, err := before.Rewritten(schemas.JSON(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestSpec_J1_LanguagesAreConfigured(t *testing.T) {
	c := parse(t, `{contract: "2026-07", tools: {codeMode: {languages: ["javascript"]}}, agents: {entries: {ts: {tools: {codeMode: {languages: ["typescript"]}}}}}}`)
	ts := schemas.ExecInput{Language: "typescript"}
	if err := ts.CheckLanguage(c.LanguagesFor("a")); err == nil || err.Field != "language" {
		t.Error(err)
	}
	if err := ts.CheckLanguage(c.LanguagesFor("ts")); err != nil {
		t.Error(err)
	}
	if got := parse(t, `{contract: "2026-07"}`).LanguagesFor(""); strings.Join(got, " ") != "javascript typescript" {
		t.Error(got)
	}
	if got := parse(t, `{}`).LanguagesFor(""); strings.Join(got, " ") != "javascript" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		`{tools: {codeMode: {languages: ["javascript"]}}}`:                      "tools.codeMode.languages: this key is retired",
		`{contract: "current", tools: {codeMode: {languages: ["javascript"]}}}`: `contract: "2026-07"`,
		`{contract: "2026-07", tools: {codeMode: {language: "typescript"}}}`:    `list the languages of programs as "languages"`,
		`{contract: "2026-07", tools: {codeMode: {languages: []}}}`:             "tools.codeMode.languages",
		`{contract: "2026-07", tools: {codeMode: {languages: ["python"]}}}`:     "tools.codeMode.languages[0]",
		`{skills: {folders: "a"}}`:                                              "skills.folders",
	} {
		if _, err := schemas.ParseConfig([]byte(text), "x.json5"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseExecInput202607(f *testing.F) {
	f.Add([]byte(`{"code":"x","language":"typescript","title":"t"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := schemas.ParseExecInput202607(b)
		if err != nil {
			return
		}
		if in.Title == "" || utf8.RuneCountInString(in.Title) > schemas.MaxTitle || strings.TrimSpace(in.Code) == "" || in.Language == "" {
			t.Errorf("%+v", in)
		}
	})
}
