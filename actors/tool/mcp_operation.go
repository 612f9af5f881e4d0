package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// operations has one row for each thing that a server can be asked besides its tools (M3).
var operations = map[string]func(s *mcpSession, ctx context.Context, args schemas.JSON) (schemas.JSON, error){
	schemas.ListResources: (*mcpSession).listResources,
	schemas.ReadResource:  (*mcpSession).readResource,
	schemas.ListPrompts:   (*mcpSession).listPrompts,
	schemas.GetPrompt:     (*mcpSession).getPrompt,
}

// perform runs an operation. Nothing of it is cached: what programs see is what the server has now.
func (s *mcpSession) perform(ctx context.Context, name string, args schemas.JSON, timeout time.Duration) (schemas.JSON, error) {
	run, ok := operations[name]
	if !ok {
		return nil, refused(schemas.CallInvalidInput, atTool, "%s is no operation of MCP servers", clip(name, maxNameBytes))
	}
	ctx, cancel := within(ctx, timeout)
	defer cancel()
	return run(s, ctx, args)
}

func (s *mcpSession) listResources(ctx context.Context, _ schemas.JSON) (schemas.JSON, error) {
	return s.listAll(ctx, "resources", "uri", func(ctx context.Context, cursor string) error {
		_, err := s.client.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		return err
	})
}

func (s *mcpSession) listPrompts(ctx context.Context, _ schemas.JSON) (schemas.JSON, error) {
	return s.listAll(ctx, "prompts", "name", func(ctx context.Context, cursor string) error {
		_, err := s.client.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		return err
	})
}

func (s *mcpSession) readResource(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
	var in struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, refused(schemas.CallInputContract, atInput, "resources.read takes { uri }: %v", err)
	}
	r := &reply{stub: json.RawMessage(`{"contents":[]}`)}
	raw, err := s.ask(ctx, "resources.read", r, func(ctx context.Context) error {
		_, err := s.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: in.URI})
		return err
	})
	if err != nil {
		return nil, err
	}
	return nativeMembers("resources.read", raw, "contents")
}

func (s *mcpSession) getPrompt(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
	var in struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, refused(schemas.CallInputContract, atInput, "prompts.get takes { name, arguments? }: %v", err)
	}
	r := &reply{stub: json.RawMessage(`{"messages":[]}`)}
	raw, err := s.ask(ctx, "prompts.get", r, func(ctx context.Context) error {
		_, err := s.client.GetPrompt(ctx, &mcp.GetPromptParams{Name: in.Name, Arguments: in.Arguments})
		return err
	})
	if err != nil {
		return nil, err
	}
	return nativeMembers("prompts.get", raw, "messages", "description")
}

// nativeMembers gives the named members of a result as the server wrote them: the list, which must be
// there, and the others unless they are null. Top-level _meta and what else the protocol keeps there is
// left out, as of a tool's result (M2).
func nativeMembers(what string, raw json.RawMessage, list string, others ...string) (schemas.JSON, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || !isList(members[list]) {
		return nil, &schemas.CallError{
			Code: schemas.CallToolError, Location: atTransport, Effect: schemas.Done,
			Message: fmt.Sprintf("%s: the server's result has no list of %s", what, list),
		}
	}
	buf := bytes.NewBufferString("{")
	for _, name := range others {
		if v, ok := members[name]; ok && string(v) != "null" {
			fmt.Fprintf(buf, "%q:%s,", name, v)
		}
	}
	fmt.Fprintf(buf, "%q:%s}", list, members[list])
	return validText(buf.Bytes()), nil
}

// isList tells whether a JSON value is an array.
func isList(v json.RawMessage) bool { return len(v) > 0 && v[0] == '[' }

// validText replaces bytes that aren't UTF-8.
func validText(text []byte) schemas.JSON { return bytes.ToValidUTF8(text, []byte("\uFFFD")) }

// maxListBytes bounds what is gathered of one list.
const maxListBytes = maxReplyBytes

// collection gathers the pages of a list.
type collection struct {
	noun, key string // such as "resources", told apart by "uri"
	items     []json.RawMessage
	bytes     int
	seen      map[string]bool
}

// listAll gives all pages of a list as if they were one: {"<noun>": […]}, and, if the server's cursors
// don't lead to the list's end, why it is "incomplete".
func (s *mcpSession) listAll(ctx context.Context, noun, key string, send func(ctx context.Context, cursor string) error) (schemas.JSON, error) {
	c := &collection{noun: noun, key: key, seen: map[string]bool{}}
	cut, err := follow(ctx, noun, c.full, func(cursor *string) (*string, error) {
		r := &reply{cursor: cursor, stub: json.RawMessage(`{"` + noun + `":[]}`)}
		raw, err := s.ask(ctx, noun+".list", r, func(ctx context.Context) error { return send(ctx, cursorText(cursor)) })
		if err != nil {
			return nil, err
		}
		return c.add(raw)
	})
	if err != nil {
		return nil, err
	}
	return c.result(cut), nil
}

func (c *collection) full() bool { return c.bytes >= maxListBytes }

// add takes a page in, and gives the cursor of the next one. What an earlier page had already is
// left out: servers whose cursors run in a circle repeat themselves.
func (c *collection) add(raw json.RawMessage) (next *string, err error) {
	var page map[string]json.RawMessage
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &page); err != nil || !isList(page[c.noun]) {
		return nil, fmt.Errorf("a page of %s/list can't be read: it has no list of %s", c.noun, c.noun)
	}
	if err := json.Unmarshal(page[c.noun], &items); err != nil {
		return nil, fmt.Errorf("a page of %s/list can't be read: %w", c.noun, err)
	}
	if cursor, ok := page["nextCursor"]; ok {
		if err := json.Unmarshal(cursor, &next); err != nil {
			return nil, fmt.Errorf("a page of %s/list can't be read: its nextCursor is no string", c.noun)
		}
	}
	keys := make([]string, len(items))
	for i, item := range items {
		if keys[i] = c.keyOf(item); c.seen[keys[i]] {
			continue
		}
		c.items = append(c.items, item)
		c.bytes += len(item)
	}
	for _, key := range keys {
		c.seen[key] = true
	}
	return next, nil
}

// keyOf tells items apart: by their URI or name, or by all they are.
func (c *collection) keyOf(item json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(item, &members) == nil && len(members[c.key]) > 0 {
		return c.key + string(members[c.key])
	}
	return string(item)
}

func (c *collection) result(cut string) schemas.JSON {
	buf := bytes.NewBuffer(make([]byte, 0, c.bytes+len(c.items)+len(cut)+64))
	fmt.Fprintf(buf, `{"%s":[`, c.noun)
	for i, item := range c.items {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(item)
	}
	buf.WriteByte(']')
	if cut != "" {
		text, _ := json.Marshal(cut) // a string
		fmt.Fprintf(buf, `,"incomplete":%s`, text)
	}
	buf.WriteByte('}')
	return validText(buf.Bytes())
}
