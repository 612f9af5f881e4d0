package catalog

import (
	"strconv"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Bounds of a namespace's values in its declaration: longer ones are told by their types only.
const (
	literalUnits  = 120
	literalDigits = 15
	tupleLength   = 16
	memberComment = 600
)

func namespacePath(n *namespace) string { return "namespaces/" + n.Global + ".d.ts" }

// declareNamespace is the file of one namespace.
func declareNamespace(n *namespace) string {
	var b strings.Builder
	head := append([]string{"Namespace " + n.Global + ", also namespaces." + n.Global + "."}, commentLines(n.Description, schemas.MaxNamespaceText)...)
	writeLines(&b, docComment(append(head, commentLines(n.Prompt, schemas.MaxNamespaceText)...)))
	d := &scopeDeclarer{declarer: newDeclarer(), scope: n.scope}
	name := "Namespace_" + n.Global
	b.WriteString("interface " + name + " " + d.object(n.scope.root) + "\n\n")
	b.WriteString("declare const " + n.Global + ": " + name + ";\n")
	b.WriteString("declare namespace namespaces {\n  const " + n.Global + ": " + name + ";\n}\n")
	return b.String()
}

// scopeDeclarer declares what is in a scope.
type scopeDeclarer struct {
	*declarer
	scope *scope
}

func (d *scopeDeclarer) object(n *node) string {
	var lines []string
	for i, key := range n.keys {
		value := n.values[i]
		name := key
		if !identifier(key) || key == "new" { // new() would be a constructor
			name = quoteJS(key)
		}
		if call := d.scope.calls[value]; call != nil {
			lines = append(lines, docComment(commentLines(call.entry.description(), memberComment))...)
			lines = append(lines, name+"("+d.params(call)+"): "+d.result(call)+";")
			continue
		}
		lines = append(lines, "readonly "+name+": "+d.value(value)+";")
	}
	if len(lines) == 0 {
		return "{}"
	}
	return "{\n" + indent(strings.Join(lines, "\n")) + "\n}"
}

func (d *scopeDeclarer) value(n *node) string {
	if call := d.scope.calls[n]; call != nil {
		return "(" + d.params(call) + ") => " + d.result(call)
	}
	switch n.kind {
	case '{':
		return d.object(n)
	case '[':
		if len(n.values) > tupleLength {
			return "readonly unknown[]"
		}
		members := make([]string, len(n.values))
		for i, v := range n.values {
			members[i] = d.value(v)
		}
		return "readonly [" + strings.Join(members, ", ") + "]"
	case '"':
		if units(n.text) > literalUnits {
			return "string"
		}
		return quoteJS(n.text)
	case '0':
		if len(n.text) > literalDigits || strings.ContainsAny(n.text, "eE") {
			return "number"
		}
		return n.text
	}
	return n.compact()
}

func (d *scopeDeclarer) result(call *scopeCall) string {
	if len(call.entry.Output) == 0 {
		return "Promise<" + unknown + ">"
	}
	return "Promise<" + d.declared(call.entry.Output, false) + ">"
}

// param is one argument of a callable with a template.
type param struct {
	name, kind string
	required   bool
}

// params declares the arguments of a callable: what the template makes a property of the input has that property's name
// and type.
func (d *scopeDeclarer) params(call *scopeCall) string {
	if call.input == nil || call.input.get(argKey) != nil && call.args == 1 {
		return d.parameter(call.entry.Parameters)
	}
	list := make([]param, call.args)
	for i := range list {
		list[i] = param{name: "arg" + strconv.Itoa(i), kind: unknown}
	}
	schema := parse(call.entry.Parameters)
	properties := make(map[string]property)
	p := &printer{input: true, nodes: declareNodes, bytes: declareBytes}
	for _, known := range p.properties(schema) {
		properties[known.name] = known
	}
	taken := make(map[string]bool)
	for i, key := range call.input.keys {
		index, ok := argument(call.input.values[i])
		known, there := properties[key]
		if !ok || !there {
			continue
		}
		if identifier(key) && !reservedWords[key] && !taken[key] && !strings.HasPrefix(key, "arg") {
			taken[key] = true
			list[index].name = key
		}
		list[index].kind = d.part(schema, known.schema)
		list[index].required = list[index].required || known.required
	}
	texts := make([]string, len(list))
	later := false // an argument after this one must be given
	for i := len(list) - 1; i >= 0; i-- {
		switch a := list[i]; {
		case a.required:
			later = true
			texts[i] = a.name + ": " + a.kind
		case later:
			texts[i] = a.name + ": " + a.kind + " | undefined"
		default:
			texts[i] = a.name + "?: " + a.kind
		}
	}
	return strings.Join(texts, ", ")
}

// part gives the type of a part of a schema.
func (d *declarer) part(root, part *node) string {
	nodes, bytes := min(declareNodes, d.nodes), min(declareBytes, d.bytes)
	p := &printer{input: true, pretty: true, depth: declareDepth, enum: declareEnum, optional: -1, nodes: nodes, bytes: bytes, root: root}
	text := p.schema(part, 0).text
	d.nodes -= nodes - p.nodes
	d.bytes -= bytes - p.bytes
	return text
}
