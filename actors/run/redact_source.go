package run

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// Marks stand in the parser's text for what is to be masked. No byte of them occurs in UTF-8.
const (
	markText   = 0xff // the mask
	markNumber = 0xfe // the mask, as a string
	markGone   = 0xfd // nothing
)

const (
	sourcePrefix = "async function program(){\n"
	sourceSuffix = "\n}"
)

// maskLiterals masks the literals of a program that are given to names of credentials, or that tell one themselves.
// It isn't ok if the program can't be parsed.
//
// The literals in the syntax tree are slices of the parser's text: they are marked where they stand, which spares
// finding them again.
func maskLiterals(source string) (masked string, ok bool) {
	if !utf8.ValidString(source) {
		return "", false
	}
	// The parser reads text that nobody vouches for; a panic in it must cost no more than its verdict.
	defer func() {
		if recover() != nil {
			masked, ok = "", false
		}
	}()
	in := parse.NewInputString(sourcePrefix + source + sourceSuffix)
	ast, err := js.Parse(in, js.Options{})
	if err != nil {
		return "", false
	}
	m := &marker{seen: make(map[js.INode]bool)}
	js.Walk(m, ast)
	if !m.marked {
		return source, true
	}
	text := unmark(in.Bytes())
	return text[len(sourcePrefix) : len(text)-len(sourceSuffix)], true
}

// unmark puts masks where marks are.
func unmark(text []byte) string {
	var out strings.Builder
	out.Grow(len(text))
	for _, b := range text {
		switch b {
		case markText:
			out.WriteString(mask)
		case markNumber:
			out.WriteString(`"` + mask + `"`)
		case markGone:
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}

// marker marks literals.
type marker struct {
	marked bool
	seen   map[js.INode]bool // expressions that were given to a credential's name
}

// Enter looks for what gives a value to a name.
func (m *marker) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.BindingElement:
		if v, ok := n.Binding.(*js.Var); ok && n.Default != nil {
			m.given(unescape(v.Data), n.Default)
		}
	case *js.BindingObjectItem:
		if n.Key != nil && n.Value.Default != nil {
			m.given(propertyName(n.Key), n.Value.Default)
		}
	case *js.Property:
		m.property(n)
	case *js.Field:
		name := propertyName(&n.Name.PropertyName)
		if n.Name.Private != nil {
			name = unescape(n.Name.Private.Data)
		}
		m.given(name, n.Init)
	case *js.BinaryExpr:
		switch n.Op {
		case js.EqToken, js.AddEqToken, js.AndEqToken, js.OrEqToken, js.NullishEqToken:
			m.given(targetName(n.X), n.Y)
		default: // gives nothing to anyone
		}
	case *js.ArrayExpr: // ["authorization", "…"]
		if len(n.List) == 2 {
			m.given(stringOf(n.List[0].Value), n.List[1].Value)
		}
	case *js.ObjectExpr:
		m.pair(n)
	case *js.CallExpr:
		m.call(n)
	case *js.LiteralExpr:
		m.told(n)
	case *js.TemplateExpr:
		for _, part := range n.List {
			m.markMatches(chunk(part.Value))
		}
		m.markMatches(chunk(n.Tail))
	}
	return m
}

// Exit does nothing.
func (m *marker) Exit(js.INode) {}

func (m *marker) property(p *js.Property) {
	if v, ok := p.Value.(*js.Var); ok && p.Init != nil {
		m.given(unescape(v.Data), p.Init)
	}
	if p.Name != nil {
		m.given(propertyName(p.Name), p.Value)
	}
}

// pair is an object that is a name with its value, as headers often are.
func (m *marker) pair(o *js.ObjectExpr) {
	name := ""
	for _, p := range o.List {
		if p.Name == nil {
			continue
		}
		switch propertyName(p.Name) {
		case "name", "key", "header", "field":
			name = stringOf(p.Value)
		}
	}
	if !isCredential(name) {
		return
	}
	for _, p := range o.List {
		if p.Name == nil {
			continue
		}
		switch propertyName(p.Name) {
		case "value", "val", "content":
			m.given(name, p.Value)
		}
	}
}

// call is a call that sets a named value: headers.set("authorization", "…").
func (m *marker) call(c *js.CallExpr) {
	if len(c.Args.List) < 2 {
		return
	}
	switch strings.ToLower(targetName(c.X)) {
	case "add", "append", "header", "put", "set", "setheader", "setitem", "setrequestheader", "store":
		m.given(stringOf(c.Args.List[0].Value), c.Args.List[1].Value)
	}
}

// given marks the literals of a value that a name is given.
func (m *marker) given(name string, value js.IExpr) {
	if value != nil && isCredential(name) {
		m.value(value, isPlural(name))
	}
}

// value marks the literals that an expression may come to. deep says that the name is that of several, which an
// object may hold.
func (m *marker) value(x js.IExpr, deep bool) {
	if x == nil || m.seen[x] {
		return
	}
	m.seen[x] = true
	switch x := x.(type) {
	case *js.LiteralExpr:
		m.literal(x, deep)
	case *js.TemplateExpr:
		m.template(x)
	case *js.GroupExpr:
		m.value(x.X, deep)
	case *js.CondExpr:
		m.value(x.X, deep)
		m.value(x.Y, deep)
	case *js.CommaExpr:
		m.value(x.List[len(x.List)-1], deep)
	case *js.ArrayExpr:
		for _, e := range x.List {
			m.value(e.Value, deep)
		}
	case *js.ObjectExpr:
		for i := range x.List {
			if deep {
				m.value(x.List[i].Value, deep)
			}
		}
	case *js.CallExpr: // "…".trim()
		if d, ok := x.X.(*js.DotExpr); ok {
			m.value(d.X, deep)
		}
	case *js.BinaryExpr:
		m.operation(x, deep)
	}
}

func (m *marker) operation(x *js.BinaryExpr, deep bool) {
	switch x.Op {
	case js.OrToken, js.NullishToken:
		m.value(x.X, deep)
		m.value(x.Y, deep)
	case js.AndToken, js.EqToken, js.OrEqToken, js.NullishEqToken:
		m.value(x.Y, deep)
	case js.AddToken:
		m.sum(x)
	default: // computed
	}
}

// sum marks the literals of a concatenation: all, if there is nothing else, and else those that are more than a
// prefix.
func (m *marker) sum(x js.IExpr) {
	var literals []*js.LiteralExpr
	computed := false
	for x != nil {
		term := x
		x = nil
		if b, ok := term.(*js.BinaryExpr); ok && b.Op == js.AddToken {
			term, x = b.Y, b.X
			m.seen[b.X] = true
		}
		switch term := ungroup(term).(type) {
		case *js.LiteralExpr:
			literals = append(literals, term)
		case *js.TemplateExpr:
			m.template(term)
		default:
			computed = true
		}
	}
	for _, l := range literals {
		if !computed || len(l.Data) > 2 && isLong(l.Data[1:len(l.Data)-1]) {
			m.literal(l, true)
		}
	}
}

// literal marks a string, or a number, unless the name is that of several: maxTokens.
func (m *marker) literal(x *js.LiteralExpr, plural bool) {
	switch x.TokenType {
	case js.StringToken:
		m.mark(x.Data[1 : len(x.Data)-1])
	case js.DecimalToken, js.IntegerToken:
		if len(x.Data) >= 4 && !plural {
			m.marked = true
			fill(x.Data, markNumber)
		}
	default: // true, false, null and regular expressions stay
	}
}

func (m *marker) template(x *js.TemplateExpr) {
	for _, part := range x.List {
		if text := chunk(part.Value); isLong(text) {
			m.mark(text)
		}
	}
	if text := chunk(x.Tail); len(x.List) == 0 || isLong(text) {
		m.mark(text)
	}
}

// isLong tells whether a piece of a computed value is more than a prefix or a separator.
func isLong(text []byte) bool {
	n := 0
	for _, b := range text {
		if b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' {
			n++
		}
	}
	return n >= 8
}

// told marks what a string says of a credential.
func (m *marker) told(x *js.LiteralExpr) {
	if x.TokenType == js.StringToken {
		m.markMatches(x.Data[1 : len(x.Data)-1])
	}
}

// markMatches marks the secrets within a literal's text.
func (m *marker) markMatches(text []byte) {
	if !bytes.ContainsAny(text, ":=") || bytes.IndexByte(text, markText) >= 0 {
		return
	}
	told.each(string(text), func(start, end int) { m.mark(text[start:end]) })
}

// mark marks the text of a literal, without its line ends.
func (m *marker) mark(text []byte) {
	if isHarmless(string(text)) {
		return
	}
	m.marked = true
	kept := lineEnd.FindAllIndex(text, -1)
	start := 0
	fillFirst := byte(markText)
	for _, k := range append(kept, []int{len(text), len(text)}) {
		if start < k[0] {
			fill(text[start:k[0]], fillFirst)
			fillFirst = markGone
		}
		start = k[1]
	}
}

func fill(text []byte, first byte) {
	text[0] = first
	for i := range text[1:] {
		text[1+i] = markGone
	}
}

// chunk is the text of a template's piece, without what encloses it.
func chunk(piece []byte) []byte {
	if len(piece) > 0 { // ` or }
		piece = piece[1:]
	}
	if text, ok := bytes.CutSuffix(piece, []byte("${")); ok {
		return text
	}
	return bytes.TrimSuffix(piece, []byte("`"))
}

// targetName is the name of what is assigned to or called.
func targetName(x js.IExpr) string {
	switch x := ungroup(x).(type) {
	case *js.Var:
		return unescape(x.Data)
	case *js.DotExpr:
		switch y := x.Y.(type) {
		case *js.Var:
			return unescape(y.Data)
		case js.LiteralExpr:
			return unescape(y.Data)
		}
	case *js.IndexExpr:
		return stringOf(x.Y)
	}
	return ""
}

func propertyName(p *js.PropertyName) string {
	if p.Computed != nil {
		return stringOf(p.Computed)
	}
	if p.Literal.TokenType == js.StringToken {
		return stringOf(&p.Literal)
	}
	return unescape(p.Literal.Data)
}

// stringOf is the text of a string or template literal, or nothing.
func stringOf(x js.IExpr) string {
	switch x := x.(type) {
	case *js.LiteralExpr:
		if x.TokenType == js.StringToken {
			return string(x.Data[1 : len(x.Data)-1])
		}
	case *js.TemplateExpr:
		if len(x.List) == 0 {
			return string(chunk(x.Tail))
		}
	}
	return ""
}
