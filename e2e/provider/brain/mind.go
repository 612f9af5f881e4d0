package brain

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// manyHits is how many hits a model asks for when the usual ones don't have the tool. Who allows fewer gives fewer.
const manyHits = 20

// direct calls the tool if it is shown.
func (t *talk) direct() string {
	want, best, most := plain(t.Tool.Name), "", 0
	for i := range t.request.Tools {
		f := &t.request.Tools[i].Function
		likeness := 0
		if f.Name == t.Tool.Name {
			likeness++
		}
		if strings.Contains(plain(f.Name), want[:min(len(want), 40)]) {
			likeness++
			if strings.Contains(f.Description, clip(t.Tool.Description, 60)) {
				likeness += 2
			}
		}
		if likeness > most {
			best, most = f.Name, likeness
		}
	}
	if best == "" {
		return giveUp
	}
	result, ok := t.callAll(best, t.Args)
	if !ok {
		return ""
	}
	return finish(result)
}

// search finds the tool by words, unless the instructions list it, reads about it if it must, and calls it.
func (t *talk) search() string {
	found := t.listed()
	for _, limit := range []int{0, manyHits} {
		if found != nil {
			break
		}
		args := map[string]any{"query": t.query()}
		if limit > 0 {
			args["limit"] = limit
		}
		result, ok := t.call("tool_search", args)
		if !ok {
			return ""
		}
		found = t.among(rows(result))
	}
	if found == nil {
		return giveUp
	}
	selector := map[string]any{"id": found.ID}
	if found.ID == "" {
		selector = map[string]any{"name": found.Name}
	}
	if !found.readable() {
		if _, ok := t.call("tool_describe", selector); !ok {
			return ""
		}
	}
	selector["args"] = t.Args
	result, ok := t.callAll("tool_call", selector)
	if !ok {
		return ""
	}
	return finish(result)
}

// listed gives the tool if the instructions have a line that begins with its name.
func (t *talk) listed() *row {
	line := regexp.MustCompile(`(?m)^\W*` + regexp.QuoteMeta(t.Tool.Name) + `(\W|$)`)
	if t.Tool.MCP || !line.MatchString(t.request.System()) {
		return nil
	}
	return &row{Name: t.Tool.Name}
}

// among gives the tool among hits.
func (t *talk) among(all []row) *row {
	for i := range all {
		r := &all[i]
		if r.ID == t.Tool.ID() {
			return r
		}
		// Programs of Code Mode know no ids: they call by MCP.<server>.<tool>, or by the name.
		server, inServer := strings.CutPrefix(r.Name, "MCP.")
		if r.ID == "" && r.Tool == t.Tool.Name && inServer == t.Tool.MCP && (!inServer || strings.Contains(plain(server), plain(t.Tool.Owner))) {
			return r
		}
	}
	return nil
}

// searchCode writes programs that look, then one that calls.
func (t *talk) searchCode() string {
	var found *row
	for _, options := range []string{"", fmt.Sprintf(", { limit: %d }", manyHits)} {
		result, ok := t.program("tool_search_code", fmt.Sprintf("return await openclaw.tools.search(%s%s)", quote(t.query()), options))
		if !ok {
			return ""
		}
		if found = t.among(rows(result)); found != nil {
			break
		}
	}
	if found == nil {
		return giveUp
	}
	if !found.readable() {
		if _, ok := t.program("tool_search_code", fmt.Sprintf("return await openclaw.tools.describe(%s)", quote(found.ID))); !ok {
			return ""
		}
	}
	result, ok := t.program("tool_search_code", t.calling(fmt.Sprintf("openclaw.tools.call(%s, %s)", quote(found.ID), t.Args)))
	if !ok {
		return ""
	}
	return finish(result)
}

// look is a program of Code Mode that shows hits.
const look = `const found = await catalog.search(%s, { limit: %d });
return found.map(({ callableName, toolName, description, input }) => ({ name: callableName, tool: toolName, description, input }))`

// code does the same in Code Mode, where the description of exec may have the tool already.
func (t *talk) code() string {
	found := t.indexed()
	for _, limit := range []int{8, manyHits} {
		if found != nil {
			break
		}
		result, ok := t.program("exec", fmt.Sprintf(look, quote(t.query()), limit))
		if !ok {
			return ""
		}
		found = t.among(rows(result))
	}
	if found == nil {
		return giveUp
	}
	if !found.readable() {
		read := fmt.Sprintf("const [tool] = await catalog.search(%s, { limit: 1 });\nreturn (await tool.describe()).header", quote(found.Name))
		if _, ok := t.program("exec", read); !ok {
			return ""
		}
	}
	result, ok := t.program("exec", t.calling(fmt.Sprintf("%s(%s)", found.Name, t.Args)))
	if !ok {
		return ""
	}
	return finish(result)
}

// calling is a program that makes a call as often as it is to be made, and says how many answers there were.
func (t *talk) calling(call string) string {
	if t.Times <= 1 {
		return "return await " + call
	}
	return fmt.Sprintf("const all = await Promise.all(Array.from({ length: %d }, () => %s));\nreturn all.length", t.Times, call)
}

// indexed gives the tool if exec's description has it.
func (t *talk) indexed() *row {
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(t.Tool.Name) + `\((.*)\) -> `)
	m := line.FindStringSubmatch(t.shown("exec").Function.Description)
	if t.Tool.MCP || m == nil {
		return nil
	}
	return &row{Name: t.Tool.Name, Input: m[1]}
}

// fill is what a bold program makes arguments with.
const fill = `
const fill = (s = {}) => {
	if ("const" in s) return s.const;
	if (s.enum) return s.enum[0];
	if ("default" in s) return s.default;
	switch (Array.isArray(s.type) ? s.type[0] : s.type) {
		case "integer": case "number": return s.minimum ?? 1;
		case "boolean": return true;
		case "array": return s.minItems ? [fill(s.items)] : [];
		case "string": return "text";
	}
	return Object.fromEntries((s.required ?? []).map((name) => [name, fill(s.properties?.[name])]));
};`

const boldSearch = `const [tool] = await openclaw.tools.search(%s, { limit: 1 });
if (!tool) return "nothing found";` + fill + `
const about = await openclaw.tools.describe(tool.id);
return await openclaw.tools.call(tool.id, fill((about.untrusted ?? about).parameters))`

const boldCode = `const [tool] = await catalog.search(%s, { limit: 1 });
if (!tool) return "nothing found";` + fill + `
const about = await tool.describe();
return await tool(fill(about.parameters ?? about.schemas[0].parameters))`

// bold runs one program.
func (t *talk) bold(name, source string) string {
	result, ok := t.program(name, fmt.Sprintf(source, quote(t.query())))
	if !ok {
		return ""
	}
	return finish(result)
}

func (t *talk) program(tool, source string) (string, bool) {
	args := map[string]any{"code": source}
	if tool == "exec" {
		args["title"] = "Look and call"
	}
	return t.call(tool, args)
}

// query is what the model searches for: the prompt, as far as a search takes it.
func (t *talk) query() string { return clip(strings.Join(strings.Fields(t.Prompt), " "), 400) }

// quote makes a text a literal of JavaScript.
func quote(text string) string {
	literal, _ := encode(text) // texts can always be encoded
	return literal
}

// plain is a name by its letters and digits alone: each surface has its own way with the others.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
}
