package schemas

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MCPServer is one entry of mcpServers: a child process (Command) or a URL, never both. The
// spellings of the well-known MCP clients are read; what they add for themselves (approvals they
// remember, descriptions, time-outs in their own units) is accepted and not used.
type MCPServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`

	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`

	// Type is "stdio" or "http"; it is filled in where the entry leaves it to be guessed.
	Type     string `json:"type"`
	Disabled bool   `json:"disabled"`

	// IncludeTools, unless nil, are the only tools of the server that are used; ExcludeTools are
	// never used. Both are exact names, and hold for every run (F4). Resources and prompts count as
	// tools here: see [ListResources] for their names.
	IncludeTools []string `json:"includeTools"`
	ExcludeTools []string `json:"excludeTools"`

	// ConnectTimeoutMs and CallTimeoutMs: take them from [MCPServer.ConnectTimeout] and [MCPServer.CallTimeout].
	ConnectTimeoutMs *float64 `json:"connectTimeoutMs"`
	CallTimeoutMs    *float64 `json:"callTimeoutMs"`
}

// Transports of an [MCPServer].
const (
	ServerStdio = "stdio"
	ServerHTTP  = "http"
)

// ConnectTimeout bounds starting or reaching the server and listing its tools: 30 s unless
// configured, at most 10 minutes.
func (s MCPServer) ConnectTimeout() time.Duration {
	return time.Duration(limit(30_000, 100, 600_000, s.ConnectTimeoutMs)) * time.Millisecond
}

// CallTimeout bounds one call: 10 minutes unless configured, at most a day.
func (s MCPServer) CallTimeout() time.Duration {
	return time.Duration(limit(600_000, 100, 86_400_000, s.CallTimeoutMs)) * time.Millisecond
}

// placeholder is ${VAR}, ${VAR:-default}, ${env:VAR}, or one of those behind a second dollar sign,
// which keeps it as it is.
var placeholder = regexp.MustCompile(`\$?\$\{(env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expand replaces placeholders by the environment, and names a variable that isn't set.
func expand(s string, lookup func(string) (string, bool)) (text, unset string) {
	text = placeholder.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		parts := placeholder.FindStringSubmatch(m)
		if v, ok := lookup(parts[2]); ok && (v != "" || parts[3] == "") {
			return v
		}
		if parts[3] != "" {
			return parts[3][len(":-"):]
		}
		unset = parts[2]
		return m
	})
	return text, unset
}

// expandAll expands every text of the entry in place and reports variables that aren't set. The
// values of variables are secrets: they are in no report.
func (s *MCPServer) expandAll(path string, report func(field, message string)) {
	one := func(field string, text *string) {
		out, unset := expand(*text, os.LookupEnv)
		if unset != "" {
			report(field, "the environment variable "+unset+" isn't set: set it, give a default with ${"+unset+":-text}, or write $${"+unset+"} to keep the text as it is")
			return
		}
		*text = out
	}
	one(path+".command", &s.Command)
	for i := range s.Args {
		one(join(path+".args", i), &s.Args[i])
	}
	one(path+".cwd", &s.Cwd)
	one(path+".url", &s.URL)
	for field, m := range map[string]map[string]string{".env": s.Env, ".headers": s.Headers} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			v := m[k]
			one(join(path+field, k), &v)
			m[k] = v
		}
	}
}
