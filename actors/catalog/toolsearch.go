package catalog

import (
	"fmt"

	"github.com/codecell/codecell/schemas"
)

// SearchControls are the tools with which a model finds, describes and calls the tools of a catalog in the modes of
// Tool Search (L1–L3). Equal settings give equal bytes, and the schemas are flat (A7).
//
// tool_call is also called under the name [schemas.DispatchAction], which is shown to nobody.
func (c *Catalog) SearchControls(settings schemas.ToolSearch) []schemas.SurfaceTool {
	if settings.Mode == schemas.ToolSearchCode {
		return []schemas.SurfaceTool{codeControl(settings)}
	}
	control := func(name, title, description, input string) schemas.SurfaceTool {
		return schemas.SurfaceTool{
			Direct: true, Control: true, Name: name, Title: title, Description: description, InputSchema: schemas.JSON(input),
		}
	}
	return []schemas.SurfaceTool{
		control(schemas.ToolSearchTool, "Search tools", fmt.Sprintf("Find tools by what they do or by name. query is one search; queries are several at once "+
			"(at most %d, %d characters together). limit is how many hits each gives (default %d, at most %d; %d together). "+
			"Each hit has id, name and source; call it with tool_call. No hits: try other words.",
			schemas.MaxToolQueries, schemas.MaxQueryText, settings.SearchDefault, settings.SearchMax, schemas.MaxToolHits),
			fmt.Sprintf(`{"type":"object","properties":{`+
				`"query":{"type":"string","description":"What the tool should do, or its name"},`+
				`"queries":{"type":"array","maxItems":%d,"description":"Several searches at once","items":{"type":"object","properties":{`+
				`"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":%d}},"required":["query"]}},`+
				`"limit":{"type":"integer","minimum":1,"maximum":%d,"description":"Hits per search"}}}`,
				schemas.MaxToolQueries, settings.SearchMax, settings.SearchMax)),
		control(schemas.ToolDescribeTool, "Describe tools", fmt.Sprintf("Get what a tool takes and gives: its description and schemas. "+
			"Do this before you call a tool whose arguments you don't know. Give id (or name), or ids for several (at most %d).", schemas.MaxToolDescribe),
			fmt.Sprintf(`{"type":"object","properties":{`+
				`"id":{"type":"string","description":"A tool's id, from tool_search"},`+
				`"name":{"type":"string","description":"Instead of id: the tool's exact name, if only one tool has it"},`+
				`"ids":{"type":"array","maxItems":%d,"items":{"type":"string"},"description":"Several tools at once"}}}`, schemas.MaxToolDescribe)),
		control(schemas.ToolCallTool, "Call a tool", "Call a tool that tool_search found, by its id (or its exact name, if only one tool has it). "+
			"Put its arguments into args: {\"id\": \"…\", \"args\": {…}}. The answer is {tool, result}.",
			`{"type":"object","properties":{`+
				`"id":{"type":"string","description":"The tool's id, from tool_search"},`+
				`"name":{"type":"string","description":"Instead of id: the tool's exact name"},`+
				`"args":{"type":"object","description":"The tool's arguments","additionalProperties":true}}}`),
	}
}

// entriesByID lists the tools by id. Ids may coincide, since servers and tools may have colons in their names.
func entriesByID(entries []*Entry) map[string][]*Entry {
	ids := make(map[string][]*Entry, len(entries))
	for _, e := range entries {
		id := e.ID()
		ids[id] = append(ids[id], e)
	}
	return ids
}
