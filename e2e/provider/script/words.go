package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

// vocabulary is what templates may say.
type vocabulary struct{ results []string }

// fill fills one template.
func (v vocabulary) fill(text string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("").Funcs(template.FuncMap{
		"last": func(path string) (string, error) { return v.find(len(v.results)-1, path) },
		"tool": v.find,
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, nil)
	return out.String(), err
}

// fillAll fills the templates in a JSON value.
func (v vocabulary) fillAll(value any) (_ any, err error) {
	switch value := value.(type) {
	case string:
		return v.fill(value)
	case []any:
		for i := range value {
			if value[i], err = v.fillAll(value[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		filled := make(map[string]any, len(value)) // a step that stays is filled again
		for key := range value {
			if filled[key], err = v.fillAll(value[key]); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return value, nil
}

// find gives a value of a tool's message.
func (v vocabulary) find(n int, path string) (string, error) {
	if n < 0 || n >= len(v.results) {
		return "", fmt.Errorf("there is no message %d of a tool, but %d", n, len(v.results))
	}
	value, err := Value(v.results[n])
	if err != nil {
		return "", err
	}
	for key := range strings.SplitSeq(path, ".") {
		switch in := value.(type) {
		case map[string]any:
			value = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return "", fmt.Errorf("%q has no %q", path, key)
			}
			value = in[i]
		default:
			value = nil
		}
		if value == nil {
			return "", fmt.Errorf("there is no %q in %.1000s", path, v.results[n])
		}
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	return encode(value)
}

// Value reads the JSON object or array in a tool's message, which may stand in an envelope.
func Value(text string) (value any, err error) {
	from, to := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if from < 0 || to < from {
		return nil, fmt.Errorf("no JSON in %.1000s", text)
	}
	for ; from >= 0 && from < to; from = next(text, from) {
		d := json.NewDecoder(strings.NewReader(text[from : to+1]))
		d.UseNumber()
		if err = d.Decode(&value); err == nil {
			return value, nil
		}
	}
	return nil, fmt.Errorf("%w in %.1000s", err, text)
}

// next gives the next place where JSON may begin: envelopes have brackets of their own.
func next(text string, from int) int {
	if i := strings.IndexAny(text[from+1:], "{["); i >= 0 {
		return from + 1 + i
	}
	return -1
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
