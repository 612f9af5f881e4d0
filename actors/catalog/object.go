package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// property is one line of an object type.
type property struct {
	name     string
	schema   *node
	required bool
}

// properties gives an object schema's properties in the author's order; required ones that aren't
// described come last.
func (p *printer) properties(n *node) []property {
	p.charge(len(n.get("required").items()))
	required := make(map[string]bool)
	for _, name := range n.get("required").items() {
		if name.is('"') {
			required[name.text] = true
		}
	}
	var list []property
	seen := make(map[string]bool)
	if described := n.get("properties"); described.is('{') {
		p.charge(len(described.keys))
		for i, name := range described.keys {
			if seen[name] {
				continue
			}
			seen[name] = true
			schema := described.values[i]
			list = append(list, property{
				name:     name,
				schema:   schema,
				required: required[name] && (!p.input || schema.get("default") == nil),
			})
		}
	}
	for _, name := range n.get("required").items() {
		if name.is('"') && !seen[name.text] {
			seen[name.text] = true
			list = append(list, property{name: name.text, required: true})
		}
	}
	return list
}

func (p *printer) object(n *node, depth int) typ {
	list := p.properties(n)
	extra := n.get("additionalProperties")
	if patterns := n.get("patternProperties"); patterns.is('{') && !extra.is('{') && len(patterns.values) > 0 {
		if extra = patterns.values[0]; len(patterns.values) > 1 {
			extra = &node{kind: 't'}
		}
	}
	if len(list) == 0 {
		switch {
		case extra.is('f') || extra == nil && n.get("properties").is('{'):
			return typ{text: "{}"}
		case extra.is('{'):
			return typ{text: "Record<string, " + p.schema(extra, depth+1).text + ">"}
		}
		return typ{text: anyRecord}
	}
	var lines []string
	left, omitted := p.optional, 0
	for i, property := range list {
		if !property.required {
			if left == 0 {
				omitted++
				continue
			}
			left--
		}
		if !p.spend(len(property.name) + 8) {
			omitted += len(list) - i
			break
		}
		lines = append(lines, p.property(property, depth)...)
	}
	if omitted > 0 {
		lines = append(lines, fmt.Sprintf("/* %d more */", omitted))
	}
	if extra.is('{') || extra.is('t') {
		lines = append(lines, "[key: string]: unknown;")
	}
	return typ{text: p.braces(lines)}
}

// property gives the lines of one property: its doc comment, if wanted, and its type.
func (p *printer) property(property property, depth int) []string {
	var lines []string
	if p.pretty {
		lines = p.comment(property.schema)
	}
	name := property.name
	if !identifier(name) {
		name = quoteJS(name)
	}
	if !property.required {
		name += "?"
	}
	return append(lines, name+": "+p.schema(property.schema, depth+1).text+";")
}

// braces lays out an object type. The nested lines of a pretty one are indented by whoever
// holds them.
func (p *printer) braces(lines []string) string {
	if !p.pretty {
		return "{ " + strings.TrimSuffix(strings.Join(lines, " "), ";") + " }"
	}
	return "{\n" + indent(strings.Join(lines, "\n")) + "\n}"
}

// indent moves every line two places to the right.
func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// maxComment bounds a property's description in a declaration, in UTF-16 units.
const maxComment = 600

// comment gives a property's doc comment: its description, default, and bounds.
func (p *printer) comment(n *node) []string {
	if !n.is('{') {
		return nil
	}
	text := n.get("description").str()
	if text == "" {
		text = n.get("title").str()
	}
	lines := commentLines(text, min(maxComment, max(p.bytes, 0)))
	var facts []string
	if value := n.get("default"); value != nil {
		facts = append(facts, "Default: "+oneLine(value.compact(), 80)+".")
	}
	for _, fact := range [...]struct{ keyword, label string }{
		{"format", "Format"}, {"minimum", "Minimum"}, {"maximum", "Maximum"},
		{"minLength", "Minimum length"}, {"maxLength", "Maximum length"}, {"minItems", "Minimum items"}, {"maxItems", "Maximum items"},
		{"pattern", "Pattern"},
	} {
		if value := n.get(fact.keyword); value.is('0') || value.is('"') {
			shown := value.text
			if fact.keyword == "pattern" {
				shown = strconv.Quote(shown)
			}
			facts = append(facts, fact.label+": "+oneLine(shown, 80)+".")
		}
	}
	if n.get("deprecated").is('t') {
		facts = append(facts, "@deprecated")
	}
	if len(facts) > 0 {
		lines = append(lines, strings.Join(facts, " "))
	}
	p.bytes -= len(strings.Join(lines, ""))
	return docComment(lines)
}

// docComment wraps lines in a doc comment; none gives none.
func docComment(lines []string) []string {
	switch len(lines) {
	case 0:
		return nil
	case 1:
		return []string{"/** " + lines[0] + " */"}
	}
	out := make([]string, 0, len(lines)+2)
	out = append(out, "/**")
	for _, line := range lines {
		out = append(out, strings.TrimRight(" * "+line, " "))
	}
	return append(out, " */")
}
