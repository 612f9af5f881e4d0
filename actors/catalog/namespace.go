package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// Namespace is a namespace with the owner that registered it, and what it holds for the run (K1).
type Namespace struct {
	schemas.Namespace
	// Owner is the plugin's id, as that of its tools.
	Owner string
	// Scope is what the owner answered for the run; see [schemas.Scope].
	Scope schemas.JSON
}

// Bounds of all namespaces of a run together: how many there are, and how many bytes their scopes have.
const (
	maxVisible    = 64
	maxScopeBytes = 1 << 20
)

// namespace is one that programs have.
type namespace struct {
	Namespace
	scope *scope
}

// olderGlobals are those of the other contract: a namespace isn't renamed by the choice of a contract.
var olderGlobals = words(`tools ALL_TOOLS`)

// CheckNamespaces says what is wrong with the namespaces that one executor registers under one owner, or is nil: each must be
// well-formed, and their ids and globals must differ (K2). The error is an invalid_input whose field is the culprit.
func CheckNamespaces(all []schemas.Namespace) *schemas.Error {
	if len(all) > schemas.MaxNamespaces {
		return schemas.Refuse("namespaces", fmt.Sprintf("there are %d namespaces; an owner may have %d", len(all), schemas.MaxNamespaces))
	}
	ids, globals := make(map[string]bool), make(map[string]bool)
	for i := range all {
		n := &all[i]
		if err := CheckNamespace(n); err != nil {
			return err
		}
		if ids[n.ID] {
			return schemas.Refuse("id", fmt.Sprintf("the namespace id %s is there twice: ids of one owner must differ", quoteShort(n.ID)))
		}
		if globals[n.Global] {
			return schemas.Refuse("globalName", fmt.Sprintf("namespace collision: two namespaces have the global name %s; give each its own", n.Global))
		}
		ids[n.ID], globals[n.Global] = true, true
	}
	return nil
}

// CheckNamespace says what is wrong with a registration by itself, or is nil.
func CheckNamespace(n *schemas.Namespace) *schemas.Error {
	if reason := unfitName("id", n.ID); reason != "" {
		return schemas.Refuse("id", "a namespace can't be registered: "+reason)
	}
	refuse := func(field, format string, args ...any) *schemas.Error {
		return schemas.Refuse(field, "namespace "+quoteShort(n.ID)+": "+fmt.Sprintf(format, args...))
	}
	if reason := unfitGlobal(n.Global); reason != "" {
		return refuse("globalName", "the global name %s %s; choose another one", quoteShort(n.Global), reason)
	}
	for _, text := range [...]struct{ field, value string }{{"description", n.Description}, {"prompt", n.Prompt}} {
		switch {
		case !utf8.ValidString(text.value):
			return refuse(text.field, "the %s isn't valid UTF-8", text.field)
		case len(text.value) > schemas.MaxNamespaceText:
			return refuse(text.field, "the %s has %d bytes; at most %d are allowed", text.field, len(text.value), schemas.MaxNamespaceText)
		}
	}
	switch {
	case len(n.RequiredTools) == 0:
		return refuse("requiredToolNames", "it requires no tools: name those of its owner's tools that its callables reach")
	case len(n.RequiredTools) > schemas.MaxNamespaceTools:
		return refuse("requiredToolNames", "it requires %d tools; at most %d are allowed", len(n.RequiredTools), schemas.MaxNamespaceTools)
	}
	for _, tool := range n.RequiredTools {
		if reason := unfitName("name", tool); reason != "" {
			return refuse("requiredToolNames", "the required tool %s can't be one: %s", quoteShort(tool), reason)
		}
	}
	return nil
}

// unfitGlobal says why a name can't be the global of a namespace, or is empty.
func unfitGlobal(name string) string {
	switch {
	case len(name) > MaxNameLength:
		return fmt.Sprintf("has %d bytes, and at most %d are allowed", len(name), MaxNameLength)
	case !identifier(name):
		return "isn't a JavaScript identifier"
	case prototypeNames[name]:
		return "is a name that every object has"
	case reservedWords[name]:
		return "is a reserved word"
	case guestGlobals[name], swarmGlobals[name], olderGlobals[name]:
		return "is taken by a global of the guest API"
	case languageGlobals[name]:
		return "is taken by a global of ECMAScript"
	case strings.HasPrefix(name, privatePrefix):
		return "is private: names that begin with " + privatePrefix + " are the product's own"
	}
	return ""
}

// Visible gives those namespaces that programs of this catalog may have: all required tools are in it, and are their owner's
// (K1). Of two with one global the one whose owner and id come first is meant. Problems are namespaces that nobody can have
// as they are.
func (c *Catalog) Visible(candidates []Namespace) (visible []Namespace, problems []Problem) {
	if len(candidates) == 0 {
		return nil, nil
	}
	tools := c.byOwner()
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b Namespace) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.ID, b.ID))
	})
	seen, byGlobal := make(map[ownedName]bool), make(map[string]*Namespace)
	for i := range sorted {
		n := &sorted[i]
		id := ownedName{n.Owner, n.ID}
		if seen[id] {
			continue // another executor of the owner came first
		}
		seen[id] = true
		if err := CheckNamespace(&n.Namespace); err != nil {
			problems = append(problems, n.problem(err.Message))
			continue
		}
		if slices.ContainsFunc(n.RequiredTools, func(tool string) bool { return tools[ownedName{n.Owner, tool}] == nil }) {
			continue
		}
		if first := byGlobal[n.Global]; first != nil {
			problems = append(problems, n.problem(fmt.Sprintf("namespace collision: the global name %s is taken by the namespace %s of plugin %s",
				n.Global, quoteShort(first.ID), quoteShort(first.Owner))))
			continue
		}
		if len(visible) == maxVisible {
			problems = append(problems, n.problem(fmt.Sprintf("programs have %d namespaces already, which is the most", maxVisible)))
			continue
		}
		byGlobal[n.Global] = n
		visible = append(visible, *n)
	}
	return visible, problems
}

// ownedName is the name of something under an owner.
type ownedName struct{ owner, name string }

// byOwner finds native tools as their owners know them.
func (c *Catalog) byOwner() map[ownedName]*Entry {
	tools := make(map[ownedName]*Entry, len(c.entries))
	for _, e := range c.entries {
		if e.Source == schemas.SourceNative {
			tools[ownedName{e.Owner, e.Name}] = e
		}
	}
	return tools
}

func (n *Namespace) problem(reason string) Problem {
	return Problem{Source: schemas.SourceNative, Owner: n.Owner, Namespace: n.ID, Reason: reason}
}

// addNamespaces takes in those that are visible and whose scope holds.
func (c *Catalog) addNamespaces(candidates []Namespace) (problems []Problem) {
	visible, problems := c.Visible(candidates)
	if len(visible) == 0 {
		return problems
	}
	tools, left := c.byOwner(), maxScopeBytes
	for _, n := range visible {
		if left -= len(n.Scope); left < 0 {
			problems = append(problems, n.problem(fmt.Sprintf("all scopes of a run together may have %d bytes", maxScopeBytes)))
			continue
		}
		scope, err := parseScope(&n.Namespace, n.Scope)
		if err != nil {
			problems = append(problems, n.problem(err.Message))
			continue
		}
		for _, call := range scope.calls {
			call.entry = tools[ownedName{n.Owner, call.tool}]
		}
		c.namespaces = append(c.namespaces, &namespace{n, scope})
	}
	slices.SortFunc(c.namespaces, func(a, b *namespace) int { return cmp.Compare(a.Global, b.Global) })
	return problems
}

// namespaceGlobals are the names that tools can't have in this catalog.
func (c *Catalog) namespaceGlobals() map[string]bool {
	taken := make(map[string]bool, len(c.namespaces))
	for _, n := range c.namespaces {
		taken[n.Global] = true
	}
	return taken
}

// Bounds of what a model reads about namespaces, in UTF-16 units.
const (
	namespaceLine   = 240
	namespacePrompt = 1000
	namespaceBudget = 3000
)

// describeNamespaces is what a model reads about the namespaces of the run (A5): a line each, and what their owners say of
// how to use them, as many as there is room for.
func (c *Catalog) describeNamespaces() string {
	var b strings.Builder
	left := namespaceBudget
	for i, n := range c.namespaces {
		lines := []string{"- `" + n.Global + "`"}
		if about := oneLine(n.Description, namespaceLine); about != "" {
			lines[0] += ": " + about
		}
		for _, line := range commentLines(n.Prompt, namespacePrompt) {
			lines = append(lines, "  "+line)
		}
		text := strings.Join(lines, "\n") + "\n"
		if left -= units(text); left < 0 {
			fmt.Fprintf(&b, "- %s more: Object.keys(namespaces).\n", count(len(c.namespaces)-i, "namespace"))
			break
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Namespaces: objects with data and functions, declared in `API.read(\"namespaces/<name>.d.ts\").content`:\n" + b.String()
}
