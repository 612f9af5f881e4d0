package tool

import (
	"context"
	"encoding/json"
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

// listTools follows the cursors of tools/list to their end, or as far as they make
// progress: a cursor seen before ends the listing, and so do the bounds. What was read
// until then counts, and problems says what is missing.
func listTools(ctx context.Context, owner string, session *mcp.ClientSession, t *tap) (tools []schemas.Tool, problems []string, err error) {
	seenCursor, seenTool := map[string]bool{}, map[string]bool{}
	var cursor *string
	for page := 0; ; page++ {
		if page == maxPages || len(tools) >= maxTools {
			return tools, append(problems, fmt.Sprintf("the list of tools was cut after %d pages and %d tools", page, len(tools))), nil
		}
		got, err := listPage(ctx, session, t, cursor)
		if err != nil {
			if page > 0 && ctx.Err() == nil {
				return tools, append(problems, fmt.Sprintf("the list of tools ends after page %d: %v", page, err)), nil
			}
			return tools, problems, err
		}
		for _, raw := range got.Tools {
			tool, err := admit(owner, raw)
			switch {
			case err != nil:
				problems = append(problems, err.Error())
			case !seenTool[tool.Name]:
				seenTool[tool.Name] = true
				tools = append(tools, tool)
			}
		}
		cursor = got.NextCursor
		if cursor == nil {
			return tools, problems, nil
		}
		if seenCursor[*cursor] {
			return tools, append(problems, fmt.Sprintf(
				"the list of tools was cut after page %d: the server gave the cursor %q again", page+1, clip(*cursor, 60))), nil
		}
		seenCursor[*cursor] = true
	}
}

// listPage asks for one page.
func listPage(ctx context.Context, session *mcp.ClientSession, t *tap, cursor *string) (*wirePage, error) {
	r := &reply{cursor: cursor}
	defer t.forget(r)
	params := &mcp.ListToolsParams{}
	if cursor != nil {
		params.Cursor = *cursor
		if params.Cursor == "" {
			params.Cursor = cursorPlaceholder
		}
	}
	res, err := session.ListTools(t.expect(ctx, r), params)
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
