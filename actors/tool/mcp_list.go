package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// Bounds of one listing.
const (
	maxPages = 10_000
	maxTools = 10_000
)

// cursorPlaceholder stands for a cursor that the tap puts in: given an empty one, the SDK
// would ask for (or, on newer protocols, answer from its cache with) the first page.
const cursorPlaceholder = "codecell"

// follow asks for page after page, until the server gives no cursor, or as far as its cursors make
// progress: one seen before ends the listing, and so do the bounds and full. An empty cursor is a
// cursor. A page after the first that the server doesn't give ends it too. What was read until then
// counts, and cut says what is missing; it is empty when nothing is.
func follow(ctx context.Context, noun string, full func() bool, page func(cursor *string) (next *string, err error)) (cut string, err error) {
	seen := map[string]bool{}
	var cursor *string
	for read := 0; ; read++ {
		if read == maxPages || full() {
			return fmt.Sprintf("the list of %s was cut after %d pages: it is too long", noun, read), nil
		}
		next, err := page(cursor)
		var ours *schemas.CallError
		switch {
		case err != nil && (read == 0 || ctx.Err() != nil || errors.Is(err, errNotSent) || errors.As(err, &ours)):
			return "", err
		case err != nil:
			return fmt.Sprintf("the list of %s ends after page %d: %v", noun, read, err), nil
		case next == nil:
			return "", nil
		case seen[*next]:
			return fmt.Sprintf("the list of %s was cut after page %d: the server gave the cursor %q again", noun, read+1, clip(*next, 60)), nil
		}
		seen[*next] = true
		cursor = next
	}
}

// cursorText is what the SDK is given for a cursor.
func cursorText(cursor *string) string {
	switch {
	case cursor == nil:
		return ""
	case *cursor == "":
		return cursorPlaceholder
	default:
		return *cursor
	}
}

// listTools gives the tools that can be used, and problems: what is wrong with others, and
// what is missing.
func listTools(ctx context.Context, owner string, session *mcp.ClientSession, t *tap) (tools []schemas.Tool, problems []string, err error) {
	seen := map[string]bool{}
	full := func() bool { return len(tools) >= maxTools }
	cut, err := follow(ctx, "tools", full, func(cursor *string) (*string, error) {
		got, err := listPage(ctx, session, t, cursor)
		if err != nil {
			return nil, err
		}
		for _, raw := range got.Tools {
			tool, err := admit(owner, raw)
			switch {
			case err != nil:
				problems = append(problems, err.Error())
			case !seen[tool.Name]:
				seen[tool.Name] = true
				tools = append(tools, tool)
			}
		}
		return got.NextCursor, nil
	})
	if cut != "" {
		problems = append(problems, cut)
	}
	return tools, problems, err
}

// listPage asks for one page.
func listPage(ctx context.Context, session *mcp.ClientSession, t *tap, cursor *string) (*wirePage, error) {
	r := &reply{cursor: cursor}
	defer t.forget(r)
	res, err := session.ListTools(t.expect(ctx, r), &mcp.ListToolsParams{Cursor: cursorText(cursor)})
	raw := t.taken(r)
	if raw == nil {
		if err != nil {
			return nil, err
		}
		// Answered from the SDK's own cache.
		if raw, err = json.Marshal(res); err != nil {
			return nil, err
		}
	}
	var page wirePage
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("a page of tools/list can't be read: %w", err)
	}
	return &page, nil
}
