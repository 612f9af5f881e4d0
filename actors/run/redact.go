package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// mask stands for what was taken out.
const mask = "[redacted]"

// maxRedactions bounds how often a text is gone over until nothing in it changes any more. What one pass takes out can
// make room for another rule's match; a text that doesn't come to rest is taken out as a whole.
const maxRedactions = 8

// Redactor masks credentials in logs (P7), and, where it is asked for, in what sessions keep of programs (P8). What is
// executed never passes through it. A nil one changes nothing, which is what sessions do unless they are told otherwise.
//
// In a program it masks string, template and number literals that a program gives to something whose name looks like a
// credential's, and, wherever they stand, tokens of known forms, registered secrets and matches of the configured
// patterns. Values that are computed, true, false and null stay. Line numbers hold. Masking twice is masking once.
type Redactor struct {
	rules   []rule
	secrets []string // longest first
}

// NewRedactor makes the redactor of a configuration, which masks further secrets as those that it registers. An error names
// the pattern that isn't a regular expression.
func NewRedactor(c *schemas.Config, secrets ...string) (*Redactor, error) {
	r := &Redactor{rules: knownForms, secrets: registered(c, secrets)}
	for i, pattern := range c.History.Patterns {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, schemas.Refuse(fmt.Sprintf("history.patterns[%d]", i), fmt.Sprintf("history.patterns[%d]: %v", i, err))
		}
		r.rules = append(slices.Clip(r.rules), rule{re: re})
	}
	return r, nil
}

// Source masks the credentials in a program.
func (r *Redactor) Source(text string) string {
	return r.settle(text, func(text string) string {
		open, program, end := unfence(text)
		masked, ok := maskLiterals(program)
		if !ok {
			masked = assigned.mask(program)
		}
		return r.forms(open + masked + end)
	})
}

// fence is a markdown code fence around a whole program, which exec takes off.
var fence = regexp.MustCompile("(?s)^(\\s*`{3,}[^\n]*\n)(.*?)(`*\\s*)$")

func unfence(text string) (open, program, end string) {
	if m := fence.FindStringSubmatch(text); m != nil {
		return m[1], m[2], m[3]
	}
	return "", text, ""
}

// Text masks the credentials in a text that isn't a program.
func (r *Redactor) Text(text string) string {
	return r.settle(text, func(text string) string { return r.forms(told.mask(text)) })
}

// Input masks the credentials in an exec input, and tells whether there were any. All else in it stays, its order,
// spacing and digits included. An input that isn't JSON is masked as text.
func (r *Redactor) Input(input schemas.JSON) (masked schemas.JSON, changed bool) {
	if r == nil {
		return input, false
	}
	if !json.Valid(input) {
		text := r.Text(string(input))
		return schemas.JSON(text), text != string(input)
	}
	var out bytes.Buffer
	kept := 0
	eachString(input, func(path []string, start, end int) {
		var text string
		if json.Unmarshal(input[start:end], &text) != nil {
			return
		}
		clean := r.Text
		if len(path) == 1 && (path[0] == "code" || path[0] == "command") {
			clean = r.Source
		}
		masked := clean(text)
		if len(path) > 0 && isCredential(path[len(path)-1]) && !isHarmless(text) {
			masked = cover(text)
		}
		if masked == text {
			return
		}
		changed = true
		out.Write(input[kept:start])
		out.Write(quote(masked))
		kept = end
	})
	if !changed {
		return input, false
	}
	out.Write(input[kept:])
	return out.Bytes(), true
}

// settle repeats a pass until it changes nothing, which makes masking twice the same as masking once.
func (r *Redactor) settle(text string, pass func(string) string) string {
	if r == nil {
		return text
	}
	for range maxRedactions {
		next := pass(text)
		if next == text {
			return text
		}
		text = next
	}
	return cover(text)
}

// forms masks what is a credential by its own form, wherever it stands.
func (r *Redactor) forms(text string) string {
	for _, secret := range r.secrets {
		if strings.Contains(text, secret) {
			text = outside(text, func(part string) string { return strings.ReplaceAll(part, secret, cover(secret)) })
		}
	}
	for _, rule := range r.rules {
		text = rule.mask(text)
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "//") { // a program that was commented out
			lines[i] = assigned.mask(line)
		}
	}
	return strings.Join(lines, "")
}

// outside changes the parts of a text between its masks. Masks that come to stand side by side become one.
func outside(text string, change func(part string) string) string {
	parts := strings.Split(text, mask)
	for i, part := range parts {
		if part != "" {
			parts[i] = change(part)
		}
	}
	text = strings.Join(parts, mask)
	for strings.Contains(text, mask+mask) {
		text = strings.ReplaceAll(text, mask+mask, mask)
	}
	return text
}

// lineEnd is a line terminator of JavaScript, with the backslash that continues a string over it.
var lineEnd = regexp.MustCompile(`\\?(?:\r\n|[\n\r\x{2028}\x{2029}])`)

// cover is what stands in the place of a text: the mask, and the text's line ends.
func cover(text string) string {
	return mask + strings.Join(lineEnd.FindAllString(text, -1), "")
}

// eachString gives the place of every string value in a valid JSON text, with the keys that lead to it. An array's
// elements have its own.
func eachString(text []byte, found func(path []string, start, end int)) {
	type level struct {
		object, key bool
	}
	var levels []level
	var path []string
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		before := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			return
		}
		top := len(levels) - 1
		isKey := top >= 0 && levels[top].object && levels[top].key
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{', '[':
				levels = append(levels, level{object: token == '{', key: true})
				if token == '{' {
					path = append(path, "")
				}
				continue
			case '}':
				path = path[:len(path)-1]
			}
			levels = levels[:top]
			top--
		case string:
			if isKey {
				path[len(path)-1] = token
				levels[top].key = false
				continue
			}
			start := before + bytes.IndexByte(text[before:], '"')
			found(path, start, int(d.InputOffset()))
		}
		if top >= 0 {
			levels[top].key = true
		}
	}
}

// minHeldSecret is the shortest secret that is masked without being named as one, in bytes: shorter ones are often
// words that programs are full of.
const minHeldSecret = 8

// registered are the given secrets, those that the configuration names, and those that it holds for others.
func registered(c *schemas.Config, secrets []string) []string {
	var list []string
	add := func(secret string, least int) {
		if scheme, bare, found := strings.Cut(secret, " "); found && isScheme(scheme) {
			secret = strings.TrimSpace(bare)
		}
		if len(secret) < least || isHarmless(secret) {
			return
		}
		escaped := string(quote(secret))
		list = append(list, secret, escaped[1:len(escaped)-1], strings.ReplaceAll(secret, "'", `\'`))
	}
	for _, secret := range slices.Concat(secrets, c.History.Secrets) {
		add(secret, schemas.MinSecretBytes)
	}
	add(c.Bus.Token, minHeldSecret)
	add(c.Bus.Password, minHeldSecret)
	for _, server := range c.MCPServers {
		for _, values := range []map[string]string{server.Env, server.Headers} {
			for name, value := range values {
				if isCredential(name) || isKnownForm(value) {
					add(value, minHeldSecret)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(list)
}

// quote writes a text as a JSON string.
func quote(text string) schemas.JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be written
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
