package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// The keys that make a callable of an object in a scope, and an argument of one in its template.
const (
	toolKey  = "$tool"
	inputKey = "input"
	argKey   = "$arg"
)

// scope is what a namespace holds: data, and callables at some of its nodes.
type scope struct {
	root  *node
	calls map[*node]*scopeCall
}

// scopeCall is a function of a scope.
type scopeCall struct {
	tool string
	// input is the template of the tool's input; nil: the first argument is the input.
	input *node
	// args is how many arguments the template knows.
	args int
	// entry is the tool in the catalog, once the scope is part of one.
	entry *Entry
}

// CheckScope says what is wrong with what a namespace would hold, or is nil (K2).
func CheckScope(n *schemas.Namespace, text schemas.JSON) *schemas.Error {
	_, err := parseScope(n, text)
	return err
}

// parseScope reads a scope. The text may come from anywhere.
func parseScope(n *schemas.Namespace, text schemas.JSON) (*scope, *schemas.Error) {
	p := &scopeParser{required: n.RequiredTools, scope: scope{calls: make(map[*node]*scopeCall)}}
	var err error
	switch {
	case len(text) > schemas.MaxScopeBytes:
		err = fmt.Errorf("it has %d bytes as JSON; at most %d are allowed", len(text), schemas.MaxScopeBytes)
	case !json.Valid(text) || !utf8.Valid(text):
		err = fmt.Errorf("it isn't JSON")
	default:
		p.root = parse(text)
		err = p.members()
	}
	if err != nil {
		return nil, schemas.Refuse("scope", "the scope of namespace "+quoteShort(n.ID)+" is refused: "+err.Error())
	}
	return &p.scope, nil
}

// scopeParser checks a scope and finds its callables.
type scopeParser struct {
	scope
	required []string
	path     []string
}

func (p *scopeParser) members() error {
	if !p.root.is('{') {
		return fmt.Errorf("expected an object, whose members programs find")
	}
	if p.root.get(toolKey) != nil {
		return fmt.Errorf("the namespace itself can't be called; put the callable into a member")
	}
	return p.value(p.root)
}

// fault says where in the scope something is wrong.
func (p *scopeParser) fault(format string, args ...any) error {
	at := "at its top"
	if len(p.path) > 0 {
		at = "at " + oneLine(strings.Join(p.path, "."), 200)
	}
	return fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
}

// inside visits the children of a node, whose keys must be fit.
func (p *scopeParser) inside(n *node, visit func(*node) error) error {
	if !n.is('{') && !n.is('[') {
		return nil
	}
	if len(p.path) >= schemas.MaxScopeDepth {
		return p.fault("it is nested deeper than %d levels", schemas.MaxScopeDepth)
	}
	if n.is('{') {
		if err := p.keys(n); err != nil {
			return err
		}
	}
	for i, child := range n.values {
		name := strconv.Itoa(i)
		if n.is('{') {
			name = n.keys[i]
		}
		p.path = append(p.path, name)
		if err := visit(child); err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
	}
	return nil
}

func (p *scopeParser) keys(n *node) error {
	seen := make(map[string]bool, len(n.keys))
	for _, key := range n.keys {
		switch {
		case key == "":
			return p.fault("a key is empty")
		case key == "__proto__" || key == "constructor" || key == "prototype":
			return p.fault("the key %s isn't allowed", key)
		case strings.ContainsAny(key, ".\x00"):
			return p.fault("the key %s contains a path separator: \".\" and NUL aren't allowed", quoteShort(key))
		case seen[key]:
			return p.fault("the key %s is there twice", quoteShort(key))
		}
		seen[key] = true
	}
	return nil
}

// value checks a value of the scope.
func (p *scopeParser) value(n *node) error {
	switch {
	case n == nil:
		return p.fault("it is too large")
	case n.get(toolKey) != nil:
		return p.callable(n)
	case n.get(argKey) != nil:
		return p.fault("%s stands only in the input of a callable", argKey)
	}
	return p.inside(n, p.value)
}

// callable checks {"$tool": name, "input"?: template}.
func (p *scopeParser) callable(n *node) error {
	if err := p.keys(n); err != nil {
		return err
	}
	for _, key := range n.keys {
		if key != toolKey && key != inputKey {
			return p.fault("a callable has %s and %s only, not %s", toolKey, inputKey, quoteShort(key))
		}
	}
	name := n.get(toolKey)
	if !name.is('"') || !slices.Contains(p.required, name.text) {
		return p.fault("%s must name one of the namespace's required tools, not %s", toolKey, oneLine(name.compact(), 80))
	}
	switch last := p.path[len(p.path)-1]; last {
	case "then", "toJSON", "toString", "valueOf":
		return p.fault("a callable can't be called %s: the language would call it by itself", last)
	}
	call := &scopeCall{tool: name.text, input: n.get(inputKey)}
	p.calls[n] = call
	if call.input == nil {
		return nil
	}
	if !call.input.is('{') {
		return p.fault("%s must be an object, or {%q: N}", inputKey, argKey)
	}
	return p.template(call, call.input)
}

// template checks a value of a callable's input.
func (p *scopeParser) template(call *scopeCall, n *node) error {
	switch {
	case n == nil:
		return p.fault("it is too large")
	case n.get(toolKey) != nil:
		return p.fault("%s can't stand in the input of a callable", toolKey)
	case n.get(argKey) == nil:
		return p.inside(n, func(child *node) error { return p.template(call, child) })
	}
	index, ok := argument(n)
	if !ok {
		return p.fault("expected {%q: N} with N from 0 to %d and nothing else", argKey, schemas.MaxScopeArgs-1)
	}
	call.args = max(call.args, index+1)
	return nil
}

// argument gives the N of {"$arg": N}.
func argument(n *node) (index int, ok bool) {
	value := n.get(argKey)
	if !value.is('0') || len(n.keys) != 1 {
		return 0, false
	}
	index, err := strconv.Atoi(value.text)
	return index, err == nil && index >= 0 && index < schemas.MaxScopeArgs
}

// install gives the scope as guests get it: the tools of callables are refs.
func (s *scope) install() json.RawMessage {
	var b strings.Builder
	s.write(&b, s.root)
	return json.RawMessage(b.String())
}

func (s *scope) write(b *strings.Builder, n *node) {
	if call := s.calls[n]; call != nil {
		fmt.Fprintf(b, `{"%s":%d,"tool":%s`, toolKey, call.entry.Ref, encode(call.entry.CallableName))
		if call.input != nil {
			b.WriteString(`,"` + inputKey + `":`)
			s.write(b, call.input)
		}
		b.WriteByte('}')
		return
	}
	switch n.kind {
	case '{', '[':
		b.WriteByte(n.kind)
		for i, child := range n.values {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.kind == '{' {
				b.Write(encode(n.keys[i]))
				b.WriteByte(':')
			}
			s.write(b, child)
		}
		b.WriteByte(n.kind + 2) // '{' → '}', '[' → ']'
	case '"':
		b.Write(encode(n.text))
	default:
		b.WriteString(n.compact())
	}
}
