package tool

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The part of the test server that has resources and prompts. Kinds that begin with "docs" have them.

func (s *testServer) capabilities() string {
	switch {
	case s.kind == "docs-and-tools":
		return `{"tools":{},"resources":{"subscribe":true},"prompts":{}}`
	case strings.HasPrefix(s.kind, "docs"):
		return `{"resources":{},"prompts":{}}`
	default:
		return `{"tools":{"listChanged":true},"prompts":{}}`
	}
}

// docsPages are the pages of the "docs" kinds' lists by the cursor that asks for them: the names on the page
// and what follows them.
var docsPages = map[string]map[string][2]string{
	"docs":                {"none": {"a b", `,"nextCursor":"2"`}, "[2]": {"c", `,"nextCursor":null,"_meta":{"x":1},"ttl":5`}},
	"docs-same-cursor":    {"none": {"a a", `,"nextCursor":"same"`}, "[same]": {"a b", `,"nextCursor":"same"`}},
	"docs-cycle":          {"none": {"a", `,"nextCursor":"x"`}, "[x]": {"b", `,"nextCursor":"y"`}, "[y]": {"a c", `,"nextCursor":"x"`}},
	"docs-empty-cursor":   {"none": {"first", `,"nextCursor":""`}, "[]": {"second", ``}},
	"docs-empty-circle":   {"none": {"first", `,"nextCursor":""`}, "[]": {"second", `,"nextCursor":""`}},
	"docs-refused-page":   {"none": {"a", `,"nextCursor":"x"`}},
	"docs-broken-page":    {"none": {"a", `,"nextCursor":"x"`}, "[x]": {"b", `,"nextCursor":7`}},
	"docs-number-cursor":  {"none": {"a", `,"nextCursor":7`}},
	"docs-and-tools":      {"none": {"", ``}},
	"docs-dies-on-page-2": {"none": {"a", `,"nextCursor":"die"`}},
}

// page is the number of the page that a request asks for, where cursors are page numbers.
func (m rpc) page() int {
	if m.Params.Cursor == nil {
		return 0
	}
	n, _ := strconv.Atoi(*m.Params.Cursor)
	return n
}

// listOther answers resources/list and prompts/list: both have the same pages.
func (s *testServer) listOther(m rpc) {
	noun, _, _ := strings.Cut(m.Method, "/")
	cursor := "none"
	if m.Params.Cursor != nil {
		cursor = "[" + *m.Params.Cursor + "]"
	}
	switch {
	case cursor == "[die]":
		os.Exit(7)
	case s.kind == "docs-no-list":
		s.reply(m, `{"`+noun+`":{"a":1}}`)
		return
	case s.kind == "docs-hangs":
		return
	case s.kind == "docs-pages":
		n := m.page()
		s.reply(m, fmt.Sprintf(`{%q:[%s],"nextCursor":"%d"}`, noun, docEntry(fmt.Sprint("t", n)), n+1))
		return
	case s.kind == "docs-endless-megabytes":
		n := m.page()
		s.reply(m, fmt.Sprintf(`{%q:[{"uri":"u:%d","name":"n%d","description":%q}],"nextCursor":"%d"}`, noun, n, n, strings.Repeat("x", 3<<20), n+1))
		return
	}
	page, ok := docsPages[s.kind][cursor]
	if !ok {
		s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no page %s"}}`, m.ID, cursor)
		return
	}
	var entries []string
	for name := range strings.FieldsSeq(page[0]) {
		entries = append(entries, docEntry(name))
	}
	s.reply(m, `{"`+noun+`":[`+strings.Join(entries, ",")+`]`+page[1]+`}`)
}

// docEntry is an item of either list, with things in it that must come through untouched.
func docEntry(name string) string {
	return fmt.Sprintf(`{"uri":"u:%s","name":"%s","size":12345678901234567890,"_meta":{"k":1.10}}`, name, name)
}

func (s *testServer) readResource(m rpc) {
	switch m.Params.URI {
	case "dies:":
		os.Exit(7)
	case "never:":
	case "missing:":
		s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"Resource not found"}}`, m.ID)
	case "odd:":
		s.reply(m, `{"contents":null}`)
	case "huge:":
		s.reply(m, `{"contents":[{"uri":"huge:","text":"`+strings.Repeat("x", 17<<20)+`"}]}`)
	default:
		s.reply(m, fmt.Sprintf(`{"_meta":{"a":1},"contents":[{"uri":%q,"text":"<b>","_meta":{"n":9007199254740993}},{"uri":"x:","blob":"AAE="}],"extra":5}`, m.Params.URI))
	}
}

func (s *testServer) getPrompt(m rpc) {
	description := `"description":null,`
	if len(m.Params.Arguments) > 0 {
		description = `"description":"says ` + m.Params.Name + `",`
	}
	args := string(m.Params.Arguments)
	if args == "" {
		args = "null"
	}
	s.reply(m, `{"_meta":{},`+description+`"messages":[{"role":"user","content":{"type":"text","text":"hi","_meta":{"args":`+args+`}}}]}`)
}
