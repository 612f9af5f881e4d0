package catalog

import (
	"slices"
	"strconv"
	"strings"
)

const (
	// unknown is what the printer says where it can't or won't tell.
	unknown = "unknown"
	// anyRecord is an object of which nothing is known.
	anyRecord = "Record<string, unknown>"
)

// printer turns one JSON Schema into TypeScript. It ends for any schema: recursion, depth, size and
// nonsense are all cut at "unknown" (M4), and the text is always a valid type.
type printer struct {
	// input: a property with a default needn't be given (M5).
	input bool
	// pretty: one property a line, with doc comments.
	pretty bool
	// depth bounds nesting, enum the members of an enumeration before it is widened to its
	// base type, optional the optional properties of one object (negative: no bound).
	depth, enum, optional int
	// nodes and bytes bound the work and the text.
	nodes, bytes int

	root *node
	open []*node // the schemas being printed, for recursion
}

// precedence of a printed type: what must be put in parentheses inside what.
type precedence uint8

const (
	primary precedence = iota
	intersection
	union
)

type typ struct {
	text string
	prec precedence
}

var (
	typeUnknown = typ{text: unknown}
	typeNever   = typ{text: "never"}
)

// print gives the type of root.
func (p *printer) print(root *node) string {
	p.root = root
	return p.schema(root, 0).text
}

func (p *printer) spend(bytes int) bool {
	p.nodes--
	p.bytes -= bytes
	return p.nodes >= 0 && p.bytes >= 0
}

// charge takes work that gives no text from the budget: looking through count things.
func (p *printer) charge(count int) { p.nodes -= count / 16 }

// spent tells that the budget is used up: every loop ends then.
func (p *printer) spent() bool { return p.nodes < 0 || p.bytes < 0 }

func (p *printer) schema(n *node, depth int) typ {
	if n.is('f') {
		return typeNever
	}
	if !n.is('{') || depth > p.depth || slices.Contains(p.open, n) || !p.spend(8) {
		return typeUnknown
	}
	p.charge(len(n.keys))
	p.open = append(p.open, n)
	defer func() { p.open = p.open[:len(p.open)-1] }()

	parts := []typ{p.own(n, depth)}
	if ref := n.get("$ref"); ref.is('"') {
		parts = append(parts, p.schema(p.resolve(ref.text), depth))
	}
	for _, member := range n.get("allOf").items() {
		if p.spent() {
			return typeUnknown
		}
		parts = append(parts, p.schema(member, depth))
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		var members []typ
		for _, member := range n.get(keyword).items() {
			if p.spent() {
				return typeUnknown
			}
			members = append(members, p.schema(member, depth))
		}
		if len(members) > 0 {
			parts = append(parts, join(members, union))
		}
	}
	if len(parts) > 1 && parts[0].text == anyRecord {
		// "type": "object" beside its alternatives only repeats what they are.
		if rest := join(parts[1:], intersection); rest.text != unknown {
			parts = []typ{rest}
		}
	}
	t := join(parts, intersection)
	if n.get("nullable").is('t') && t.text != unknown {
		t = join([]typ{t, {text: "null"}}, union)
	}
	return t
}

// resolve follows a reference inside the schema; any other gives nil.
func (p *printer) resolve(ref string) *node {
	switch {
	case ref == "#":
		return p.root
	case strings.HasPrefix(ref, "#/"):
		return p.root.pointer(ref[1:])
	}
	return nil
}

// own gives the type that a schema states by itself, without its references and compositions.
func (p *printer) own(n *node, depth int) typ {
	if value := n.get("const"); value != nil {
		return p.literals([]*node{value})
	}
	if values := n.get("enum"); values.is('[') && len(values.values) > 0 {
		return p.literals(values.values)
	}
	if types := n.get("type"); types.is('[') {
		var members []typ
		for _, name := range types.values {
			if p.spent() {
				return typeUnknown
			}
			members = append(members, p.named(name.str(), n, depth))
		}
		if len(members) > 0 {
			return join(members, union)
		}
	} else if types.is('"') {
		return p.named(types.text, n, depth)
	}
	switch {
	case n.get("properties").is('{'), n.get("additionalProperties").is('{'), n.get("patternProperties").is('{'):
		return p.object(n, depth)
	case n.get("items") != nil, n.get("prefixItems").is('['):
		return p.array(n, depth)
	}
	return typeUnknown
}

func (p *printer) named(name string, n *node, depth int) typ {
	switch name {
	case "string", "boolean", "null":
		return typ{text: name}
	case "number", "integer":
		return typ{text: "number"}
	case "array":
		return p.array(n, depth)
	case "object":
		return p.object(n, depth)
	}
	return typeUnknown
}

// literals gives the union of some values, widened to their kinds if they are many or long.
func (p *printer) literals(values []*node) typ {
	wide := len(values) > p.enum
	p.charge(len(values))
	members := make([]typ, 0, min(len(values), p.enum))
	for _, v := range values {
		if v == nil || v.kind == '{' || v.kind == '[' || !wide && !p.spend(len(v.text)) {
			return typeUnknown
		}
		var kind, text string
		switch v.kind {
		case '"':
			kind, text = "string", quoteJS(v.text)
		case '0':
			kind, text = "number", v.text
		case 'n':
			kind, text = "null", "null"
		default:
			kind, text = "boolean", v.compact()
		}
		if wide || len(text) > 100 {
			text = kind
		}
		if !slices.ContainsFunc(members, func(t typ) bool { return t.text == text }) {
			members = append(members, typ{text: text})
		}
	}
	return join(members, union)
}

func (p *printer) array(n *node, depth int) typ {
	items, tuple := n.get("items"), n.get("prefixItems")
	if !tuple.is('[') && items.is('[') { // the older spelling
		tuple, items = items, n.get("additionalItems")
	}
	if !tuple.is('[') || len(tuple.values) == 0 || len(tuple.values) > 32 {
		return arrayOf(p.schema(items, depth+1))
	}
	needed := len(tuple.values)
	if least := n.get("minItems"); least.is('0') {
		if i, err := strconv.Atoi(least.text); err == nil && i >= 0 {
			needed = i
		}
	}
	members := make([]string, 0, len(tuple.values)+1)
	for i, element := range tuple.values {
		t := p.schema(element, depth+1)
		if i >= needed {
			if t.prec != primary {
				t.text = "(" + t.text + ")"
			}
			t.text += "?"
		}
		members = append(members, t.text)
	}
	if items.is('{') {
		members = append(members, "..."+arrayOf(p.schema(items, depth+1)).text)
	}
	return typ{text: "[" + strings.Join(members, ", ") + "]"}
}

// arrayOf uses the short form for plain names only: [] binds closer than | does.
func arrayOf(t typ) typ {
	if identifier(strings.TrimRight(t.text, "[]")) && t.prec == primary {
		return typ{text: t.text + "[]"}
	}
	return typ{text: "Array<" + t.text + ">"}
}

// join makes a union or an intersection of the distinct members.
func join(members []typ, kind precedence) typ {
	absorbing, neutral, separator := unknown, "never", " | "
	if kind == intersection {
		absorbing, neutral, separator = "never", unknown, " & "
	}
	kept := make([]typ, 0, len(members))
	for _, t := range members {
		if t.text == absorbing {
			return typ{text: absorbing}
		}
		if t.text != neutral && !slices.Contains(kept, t) {
			kept = append(kept, t)
		}
	}
	switch len(kept) {
	case 0:
		return typ{text: neutral}
	case 1:
		return kept[0]
	}
	texts := make([]string, len(kept))
	for i, t := range kept {
		if texts[i] = t.text; t.prec > kind {
			texts[i] = "(" + t.text + ")"
		}
	}
	return typ{text: strings.Join(texts, separator), prec: kind}
}
