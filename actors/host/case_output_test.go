package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// small is a configuration with an output budget of one KiB.
const small = `{tools: {codeMode: {enabled: true, maxOutputBytes: 1024, timeoutMs: 2000}}}`

// marker is what stands for something that was too large.
type marker struct {
	Truncated    bool   `json:"truncated"`
	Prefix       string `json:"prefix"`
	OmittedBytes int    `json:"omittedBytes"`
	Guidance     string `json:"guidance"`
}

func markerOf(t *testing.T, value schemas.JSON) marker {
	t.Helper()
	var m marker
	if err := json.Unmarshal(value, &m); err != nil || !m.Truncated || m.Guidance == "" {
		t.Fatalf("no marker: %s (%v)", value, err)
	}
	return m
}

// spent is how much of the output budget a result has used.
func spent(t *testing.T, r *schemas.Result) int {
	t.Helper()
	n := len(r.Value)
	if r.Error != "" {
		b, err := json.Marshal(r.Error)
		if err != nil {
			t.Fatal(err)
		}
		n += len(b)
	}
	if len(r.Output) > 0 {
		b, err := json.Marshal(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		n += len(b)
	}
	return n
}

// Case 75: too much output is a success with a prefix; a failure keeps what was accepted before it; a cell still parks.
func TestSpec_O2_Case75_OverTheBudget(t *testing.T) {
	_, n, run := labNode(t, config(t, small))
	result := exec(t, run, `return "x".repeat(3000)`)
	if result.Status != schemas.StatusCompleted {
		t.Fatal(told(result))
	}
	m := markerOf(t, result.Value)
	if whole := `"` + strings.Repeat("x", 3000) + `"`; !strings.HasPrefix(whole, m.Prefix) || len(m.Prefix)+m.OmittedBytes != len(whole) || len(m.Prefix) < 500 {
		t.Errorf("a prefix of %d bytes and %d omitted, of %d", len(m.Prefix), m.OmittedBytes, len(whole))
	}
	if spent(t, result) > 1024 {
		t.Errorf("%d bytes of 1024", spent(t, result))
	}

	first := exec(t, run, `text("a".repeat(400)); await yield_control(); text("b".repeat(300)); throw new Error("e".repeat(5000))`)
	mustWait(t, first, schemas.ReasonYield)
	last := wait(t, n, "a", "w", first.RunID)
	mustFail(t, last, schemas.InternalError, "Error: eee")
	if !strings.HasSuffix(last.Error, " [error truncated]") || texts(first) != strings.Repeat("a", 400) || spent(t, first)+spent(t, last) > 1024 {
		t.Errorf("%s, then %s", told(first), told(last))
	}

	for name, code := range map[string]string{
		"throw": `text("kept"); throw new Error("no")`, "timeout": `text("kept"); for (;;);`,
		"pending": `text("kept"); await new Promise(() => {})`, "overflow": `text("kept"); await Promise.all(Array.from({length: 200}, () => rec({})))`,
		"rejected": `text("kept"); await fails({})`,
	} {
		if r := exec(t, run, code); r.Status != schemas.StatusFailed || texts(r) != "kept" {
			t.Errorf("%s: %s", name, told(r))
		}
	}
	parks := exec(t, run, `for (let i = 0; i < 100; i++) text("line " + i + " of many"); await yield_control(); return 1`)
	mustWait(t, parks, schemas.ReasonYield)
	if end := wait(t, n, "a", "w2", parks.RunID); end.Status != schemas.StatusCompleted || spent(t, parks)+spent(t, end) > 1024 {
		t.Errorf("%s, then %s", told(parks), told(end))
	}
}

// Case 77: heavily escaped output keeps a useful prefix.
func TestSpec_O2_Case77_EscapedOutput(t *testing.T) {
	_, _, run := labNode(t, nil)
	for _, filler := range []string{`\\`, "a", `"`, "\\n", "é", "😀"} {
		for _, emit := range []string{`return v`, `text(v); return 0`} {
			result := exec(t, run, fmt.Sprintf(`const v = "# Heading" + %q.repeat(70000); %s`, filler, emit))
			if result.Status != schemas.StatusCompleted {
				t.Fatal(told(result))
			}
			value := result.Value
			if len(result.Output) == 1 {
				value = result.Output[0].Value
			}
			m := markerOf(t, value)
			if !strings.Contains(m.Prefix, "# Heading") || len(m.Prefix) < 10_000 || !utf8.ValidString(m.Prefix) || spent(t, result) > 64<<10 {
				t.Errorf("%q, %s: a prefix of %d bytes, %d spent", filler, emit, len(m.Prefix), spent(t, result))
			}
		}
	}
}

// Case 78: no cut falls inside a character, wherever it falls, and half a surrogate pair is sound UTF-8.
func TestSpec_O2_Case78_WholeCharacters(t *testing.T) {
	_, _, run := labNode(t, config(t, small))
	for pad := range 8 {
		for _, code := range []string{
			`return "%s" + "😀".repeat(600)`, `text("%s" + "😀".repeat(600)); return 0`, `throw new Error("%s" + "😀".repeat(600))`, `json(["%s" + "😀".repeat(600)]); return 0`,
		} {
			result := exec(t, run, fmt.Sprintf(code, strings.Repeat("p", pad)))
			text, err := result.JSON()
			if err != nil || !utf8.Valid(text) || strings.ContainsRune(string(text), utf8.RuneError) || strings.Contains(string(text), `\ud8`) {
				t.Fatalf("pad %d, %s: %s (%v)", pad, code, text, err)
			}
		}
	}
	result := exec(t, run, `text("a\ud83d"); return "b\udc00"`)
	text, err := result.JSON()
	if err != nil || !utf8.Valid(text) || !json.Valid(text) {
		t.Fatalf("%s (%v)", text, err)
	}
	if texts(result) != "a\ufffd" && !strings.Contains(string(text), `a\ud83d`) {
		t.Errorf("a lone surrogate became %q", texts(result))
	}
}

// Case 79: only what the program returns is in the reply, and one layer cuts.
func TestSpec_X13_Case79_OneLayerCuts(t *testing.T) {
	_, _, run := labNode(t, nil)
	result := exec(t, run, `const r = await rec({big: "b".repeat(40000), one: 1}); return r.one`)
	mustComplete(t, result, `1`)
	if text, err := result.JSON(); err != nil || len(text) > 1000 {
		t.Errorf("the reply has %d bytes (%v)", len(text), err)
	}
	// A value that just fits goes the whole way: to what the model reads.
	fits := exec(t, run, `return {v: "f".repeat(65536 - 8)}`)
	if len(fits.Value) != 65536 {
		t.Fatalf("%d bytes", len(fits.Value))
	}
	text := schemas.ModelText(*fits, "id")
	if !json.Valid([]byte(text)) || !strings.Contains(text, strings.Repeat("f", 65528)) {
		t.Errorf("the model reads %d bytes: %.100s", len(text), text)
	}
}
