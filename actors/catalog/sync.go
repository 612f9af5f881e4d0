package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// answer is what a synchronous look-up gives a guest: a value, or the name and message of an
// error to throw.
type answer struct {
	OK    any    `json:"ok,omitempty"`
	Error *fault `json:"error,omitempty"`
}

type fault struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// These are set if it stands for a call that wasn't made (E3).
	Code     schemas.CallCode `json:"code,omitempty"`
	Location string           `json:"location,omitempty"`
	Effect   schemas.Outcome  `json:"effectStatus,omitempty"`
}

func typeError(message string) *fault { return &fault{Name: "TypeError", Message: message} }
func plainError(format string, args ...any) *fault {
	return &fault{Name: "Error", Message: fmt.Sprintf(format, args...)}
}

// lookups are the synchronous methods of a guest, one row a method.
var lookups = map[string]func(c *Catalog, payload []byte) (value any, untrusted bool, err *fault){
	"api.list":  (*Catalog).apiList,
	"api.read":  (*Catalog).apiRead,
	"mcp.api":   (*Catalog).mcpAPI,
	"tool.meta": (*Catalog).toolMeta,
	"outside":   (*Catalog).outside,
}

// Sync answers one synchronous look-up of a guest with {"ok":value} or {"error":{name,message}}. Method and
// payload are the guest's: anything is answered, nothing panics.
func (c *Catalog) Sync(method string, payload []byte) []byte {
	text, _ := c.SyncTrust(method, payload)
	return text
}

// SyncTrust is [Catalog.Sync], and tells whether the answer holds text from outside (M6, O5).
func (c *Catalog) SyncTrust(method string, payload []byte) (text []byte, untrusted bool) {
	lookup, ok := lookups[method]
	if !ok {
		return encode(answer{Error: plainError("unknown look-up %s", quoteShort(method))}), false
	}
	value, untrusted, err := lookup(c, payload)
	if err != nil {
		return encode(answer{Error: err}), false
	}
	return encode(answer{OK: value}), untrusted
}

// decode reads a payload; an empty one is an empty object.
func decode(payload []byte, into any) *fault {
	if len(bytes.TrimSpace(payload)) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, into); err != nil {
		return typeError("the arguments have the wrong type: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func (c *Catalog) apiList(payload []byte) (any, bool, *fault) {
	var in struct {
		Prefix string `json:"prefix"`
	}
	if err := decode(payload, &in); err != nil {
		return nil, false, err
	}
	if err := cleanPath(in.Prefix); err != nil {
		return nil, false, err
	}
	rows, untrusted := c.files().list(in.Prefix)
	return struct {
		Files []listed `json:"files"`
	}{rows}, untrusted, nil
}

func (c *Catalog) apiRead(payload []byte) (any, bool, *fault) {
	var in struct {
		Path string `json:"path"`
	}
	if err := decode(payload, &in); err != nil {
		return nil, false, err
	}
	if err := cleanPath(in.Path); err != nil {
		return nil, false, err
	}
	row, untrusted, ok := c.files().read(in.Path)
	if !ok {
		return nil, false, plainError("Unknown API file: %s. API.list() names the files.", quoteShort(in.Path))
	}
	return row, untrusted, nil
}

// outside is told when a program reads what a client or a server says of its tools where no look-up gave it.
func (c *Catalog) outside([]byte) (any, bool, *fault) { return true, true, nil }

// cleanPath refuses paths that aren't plain names between slashes. The empty path is one.
func cleanPath(path string) *fault {
	if path == "" {
		return nil
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\x00") {
			return plainError("Invalid API path: %s. Paths look like \"tools/read.d.ts\", without \".\" or \"..\".", quoteShort(path))
		}
	}
	return nil
}

func (c *Catalog) toolMeta(payload []byte) (any, bool, *fault) {
	var in struct {
		Ref int `json:"ref"`
	}
	in.Ref = -1
	if err := decode(payload, &in); err != nil {
		return nil, false, err
	}
	e, ok := c.Tool(in.Ref)
	if !ok {
		return nil, false, plainError("Unknown tool number %d.", in.Ref)
	}
	return c.record(e), e.Untrusted(), nil
}

func (c *Catalog) mcpAPI(payload []byte) (any, bool, *fault) {
	var in struct {
		Server string `json:"server"`
		Tool   string `json:"tool"`
		Schema bool   `json:"schema"`
	}
	if err := decode(payload, &in); err != nil {
		return nil, false, err
	}
	s, ok := c.byServer[in.Server]
	if !ok {
		return nil, false, plainError("Unknown MCP server %s. API.read(\"mcp/index.d.ts\") names the servers.", quoteShort(in.Server))
	}
	if in.Tool == "" {
		return describeMCP(s, s.tools, "server", in.Schema), true, nil
	}
	e := s.find(in.Tool)
	if e == nil {
		return nil, false, plainError("MCP.%s has no tool %s. API.read(%q) declares its tools.", s.identifier, quoteShort(in.Tool), mcpPath(s))
	}
	return describeMCP(s, []*Entry{e}, "tool", in.Schema), true, nil
}

// find gives a server's tool by its identifier, else by its own name.
func (s *server) find(name string) *Entry {
	var byName *Entry
	for _, e := range s.tools {
		if e.identifier == name || e.CallableName == name {
			return e
		}
		if e.Name == name {
			byName = e
		}
	}
	return byName
}
