package schemas

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// problems collects what is wrong with a configuration.
type problems struct {
	name  string
	where *keyPlaces
	list  []problem
}

type problem struct {
	at int
	Error
}

// add notes a problem with the field at path.
func (p *problems) add(path, message string) {
	at := p.where.of(path)
	for _, d := range p.where.duplicates {
		if d.path == path {
			at = d.at
		}
	}
	text := p.name + ":" + position(p.where.text, at) + ": "
	if path != "" {
		text += path + ": "
	}
	p.list = append(p.list, problem{at: at, Error: *Refuse(path, text+message)})
}

func (p *problems) sorted() []Error {
	slices.SortStableFunc(p.list, func(a, b problem) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Field, b.Field)) })
	list := make([]Error, len(p.list))
	for i, e := range p.list {
		list[i] = e.Error
	}
	return list
}

// validate holds the configuration against its schema.
func (p *problems) validate(root map[string]any) {
	for _, v := range configSchema().validateAll(root) {
		v.Path = strings.TrimPrefix(v.Path, ".")
		message := "expected " + v.Expected
		if v.Expected == "no such field" {
			message = "there is no such key"
		}
		if v.Hint != "" {
			message += ": " + v.Hint
		}
		p.add(v.Path, message)
	}
}

// retired names keys of earlier or other programs and what to write instead. The key is taken
// out, so that it is reported once.
func (p *problems) retired(root map[string]any) {
	take := func(in map[string]any, path, key, advice string) {
		if _, ok := in[key]; ok {
			delete(in, key)
			p.add(join(path, key), advice)
		}
	}
	take(root, "", "mcp", `this key is retired: write its "servers" as the top-level "mcpServers"`)
	take(root, "", "servers", `this key is another program's: write the block as "mcpServers"`)
	take(root, "", "codeMode", `this key moved: write "tools": {"codeMode": …}`)
	take(root, "", "toolSearch", `this key moved: write "tools": {"toolSearch": …}`)
	take(root, "", "inputs", `codecell asks for no inputs: put secrets in environment variables and write ${VAR}`)
	agents, _ := root["agents"].(map[string]any)
	take(agents, "agents", "list", `this key is retired: write "entries": {"<id>": {…}}`)
	older := root["contract"] == Contract202607
	p.retiredTools("tools", root["tools"], older, take)
	entries, _ := agents["entries"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		entry, _ := entries[id].(map[string]any)
		path := join("agents.entries", id)
		take(entry, path, "codeMode", `this key moved: write "tools": {"codeMode": …}`)
		p.retiredTools(join(path, "tools"), entry["tools"], older, take)
	}
}

// retiredTools looks at the tools of everyone or of an agent. older: the contract is [Contract202607], which knows languages.
func (p *problems) retiredTools(path string, tools any, older bool, take func(in map[string]any, path, key, advice string)) {
	in, _ := tools.(map[string]any)
	mode, _ := in["codeMode"].(map[string]any)
	path = join(path, "codeMode")
	const onlyJavaScript = "this key is retired: programs are plain JavaScript; remove it"
	if !older {
		take(mode, path, "languages", onlyJavaScript+`, or set contract: "`+Contract202607+`"`)
	}
	for _, key := range []string{"language", "typecheck", "typescript"} {
		if older {
			take(mode, path, key, `this key is retired: list the languages of programs as "languages"`)
			continue
		}
		take(mode, path, key, onlyJavaScript)
	}
	take(mode, path, "runtime", "this key is retired: there is one engine, built in; remove it")
}

// models refuses wildcards, which would make precedence unclear (F6), but for what is known of models, and patterns that
// mean no model.
func (p *problems) models(root map[string]any) {
	check := func(path string, in any) {
		holder, _ := in.(map[string]any)
		models, _ := holder["models"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(models)) {
			at := join(join(path, "models"), name)
			switch provider, model, ok := strings.Cut(name, "/"); {
			case strings.ContainsAny(name, "*?"):
				p.add(at, "wildcards aren't allowed here: name one model as \"provider/model\"")
			case !ok || provider == "" || model == "":
				p.add(at, "expected a key of the form \"provider/model\"")
			}
		}
	}
	agents, _ := root["agents"].(map[string]any)
	check("agents.defaults", agents["defaults"])
	entries, _ := agents["entries"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		check(join("agents.entries", id), entries[id])
	}
	known, _ := root["models"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(known)) {
		if !strings.ContainsAny(pattern, "/*") {
			p.add(join("models", pattern), "expected a key of the form \"provider/model\", in which * stands for any text")
		}
	}
}

// ownServices are names that stand for tools of codecell itself.
var ownServices = []string{"core", "nodes", "codecell-executor"}

// services refuses names under which others' tools would be taken for our own.
func (p *problems) services(root map[string]any) {
	names, _ := root["services"].([]any)
	for i, v := range names {
		if name, _ := v.(string); slices.Contains(ownServices, name) {
			p.add(fmt.Sprintf("services[%d]", i), fmt.Sprintf("%q is codecell's own name: name the service of somebody else, or give it another name", name))
		}
	}
}

// otherClients are keys that well-known MCP clients write into a server's entry and that don't
// change what the server is. They are accepted and not used: approvals remembered by another
// program aren't ours, and its time-outs are in seconds or in milliseconds, which can't be told
// apart. Any other key is an error: a misspelt "args" would start the wrong thing.
var otherClients = []string{
	"alwaysAllow", "autoApprove", "autoStart", "author", "description", "dev", "displayName", "gallery", "icon", "id", "initTimeout", "isActive", "name",
	"networkTimeout", "note", "oauth", "source", "tags", "timeout", "title", "trust", "version", "watchPaths", "_comment", "comment", "$comment", "//",
}

// servers brings the entries of mcpServers into one form (F5).
func (p *problems) servers(root map[string]any) {
	servers, _ := root["mcpServers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		path := join("mcpServers", name)
		if strings.TrimSpace(name) == "" || len(name) > 64 {
			p.add(path, "expected a server name of 1 to 64 bytes")
		}
		if s, ok := servers[name].(map[string]any); ok {
			p.server(path, s)
		}
	}
}

func (p *problems) server(path string, s map[string]any) {
	for _, k := range otherClients {
		delete(s, k)
	}
	p.rename(path, s, "url", "serverUrl", "httpUrl")
	p.rename(path, s, "type", "transport", "transportType")
	p.rename(path, s, "excludeTools", "disabledTools")
	if on, ok := s["enabled"].(bool); ok {
		delete(s, "enabled")
		if _, said := s["disabled"]; !said {
			s["disabled"] = !on
		}
	}
	env, _ := s["env"].(map[string]any)
	for k, v := range env { // clients accept numbers here, and people write them
		switch v.(type) {
		case float64, bool:
			env[k] = fmt.Sprint(v)
		}
	}
	if s["disabled"] == true {
		clear(s) // whatever is in it, it isn't used
		s["disabled"] = true
		return
	}
	if _, ok := s["envFile"]; ok {
		delete(s, "envFile")
		p.add(path+".envFile", "env files aren't read: put the variables into \"env\", or set them and write ${VAR}")
	}
	command, hasCommand := s["command"]
	address, hasURL := s["url"]
	switch {
	case hasCommand && hasURL:
		p.add(path, "expected either command or url, not both")
	case !hasCommand && !hasURL:
		p.add(path, "expected command (a program to start) or url (a streamable HTTP server)")
	case hasURL:
		p.address(path+".url", address)
	}
	if c, ok := command.(string); ok && c != "" && strings.TrimSpace(c) == "" {
		p.add(path+".command", "expected the name of a program")
	}
	p.transport(path, s, hasURL)
}

// transport settles "type" and refuses what doesn't fit.
func (p *problems) transport(path string, s map[string]any, hasURL bool) {
	said, ok := s["type"].(string)
	if !ok && s["type"] != nil {
		return // the schema reports it
	}
	want := ServerStdio
	if hasURL {
		want = ServerHTTP
	}
	s["type"] = want
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(said)) {
	case "":
	case "stdio", "local":
		if hasURL {
			p.add(path+".type", `a "stdio" server has a command, not a url`)
		}
	case "http", "streamablehttp", "streamable", "remote":
		if !hasURL {
			p.add(path+".type", `an "http" server has a url, not a command`)
		}
	case "sse":
		p.add(path+".type", `the transport "sse" is retired from MCP and isn't spoken here: use the server's streamable HTTP url with type "http"`)
	default:
		p.add(path+".type", `expected "stdio" or "http"`)
	}
}

// address checks a server's URL; with a placeholder in it only its scheme can be checked.
func (p *problems) address(path string, v any) {
	text, ok := v.(string)
	if !ok || text == "" || strings.HasPrefix(text, "${") {
		return
	}
	if scheme, _, _ := strings.Cut(strings.ToLower(text), "://"); scheme != "http" && scheme != "https" {
		p.add(path, "expected a URL that begins with http:// or https://")
	} else if u, err := url.Parse(text); err == nil && u.Host == "" {
		p.add(path, "expected a URL with a host")
	} else if err != nil && !strings.Contains(text, "${") {
		p.add(path, "expected a URL, but this isn't one")
	}
}

// rename brings other spellings of a key to ours.
func (p *problems) rename(path string, s map[string]any, ours string, theirs ...string) {
	for _, key := range theirs {
		v, ok := s[key]
		if !ok {
			continue
		}
		delete(s, key)
		if _, twice := s[ours]; twice {
			p.add(join(path, key), fmt.Sprintf("this says the same as %q: remove one", ours))
			continue
		}
		s[ours] = v
	}
}

func limitReader(r io.Reader) io.Reader { return io.LimitReader(r, MaxConfigBytes+1) }
