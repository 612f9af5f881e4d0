package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Bounds of the directory, in UTF-16 units.
const (
	// MaxDirectory bounds it, however large the model's context window is (L3).
	MaxDirectory = 18_000
	// directoryDescription bounds one description where there is room.
	directoryDescription = 200
	// shortestDescription: what would be shorter says nothing, and is left out.
	shortestDescription = 12
)

const directoryHead = "# Tools\nCall a tool by tool_call with its name; tool_describe gives its arguments.\n"

// Directory is the text by which a model knows the trusted tools from the start (L3): their names and, as far as there is
// room, what they do, one a line and sorted. It has no text of an MCP server or client: of
// their tools it has the number. Equal catalogs give equal bytes.
//
// It has at most [MaxDirectory] UTF-16 units, and at most a tenth of contextTokens, which is the context window of the
// model in tokens; 0 means that it isn't known. All descriptions are shortened alike before names are left out; those
// that are, from the end, are counted in the last line. It is empty if there is no tool, or no room.
func (c *Catalog) Directory(contextTokens int) string {
	budget := MaxDirectory
	if contextTokens > 0 {
		budget = min(budget, contextTokens/10)
	}
	var rows []directoryRow
	for _, e := range c.entries {
		if e.Source == schemas.SourceNative {
			rows = append(rows, directoryRow{e.directoryName(), plainLine(e.description())})
		}
	}
	slices.SortFunc(rows, func(a, b directoryRow) int { return strings.Compare(a.name, b.name) })
	foot := c.externalTools()
	if len(rows) == 0 && foot == "" {
		return ""
	}
	budget -= units(directoryHead) + units(foot)
	list, ok := fitDirectory(rows, budget)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(directoryHead+list+foot, "\n")
}

// lineName is a name that can stand in a line of text as it is.
var lineName = regexp.MustCompile(`^\w[\w./-]*$`)

// directoryName is the tool's own name, as tool_search gives it, unless it could pass for more than a name. [Catalog.Select]
// takes the callable name too.
func (e *Entry) directoryName() string {
	if lineName.MatchString(e.Name) {
		return e.Name
	}
	return e.CallableName
}

// externalTools says how many tools the directory doesn't name since others describe them.
func (c *Catalog) externalTools() string {
	n := c.counts.MCP + c.counts.Client
	if n == 0 {
		return ""
	}
	return count(n, "more tool") + " of MCP servers and clients: find them with tool_search.\n"
}

// directoryRow is one tool of the directory.
type directoryRow struct{ name, description string }

// line gives the row with at most limit units of its description.
func (r directoryRow) line(limit int) string {
	short := ""
	if limit >= shortestDescription {
		short = ellipsis(r.description, limit)
	}
	if short == "" {
		return "- " + r.name + "\n"
	}
	return "- " + r.name + ": " + short + "\n"
}

// fitDirectory writes the rows within budget units, with descriptions as long as they can all be. ok is false if not
// even the number of tools fits.
func fitDirectory(rows []directoryRow, budget int) (text string, ok bool) {
	size := func(limit int) int {
		n := 0
		for _, r := range rows {
			n += units(r.line(limit))
		}
		return n
	}
	// The largest limit that fits: a longer one never makes a shorter text.
	limit, over := shortestDescription-1, directoryDescription+1
	for limit+1 < over {
		if middle := (limit + over) / 2; size(middle) <= budget {
			limit = middle
		} else {
			over = middle
		}
	}
	kept := len(rows)
	if size(limit) > budget {
		kept = 0
		left := budget - units(omittedTools(len(rows)))
		for ; kept < len(rows); kept++ {
			if left -= units(rows[kept].line(limit)); left < 0 {
				break
			}
		}
	}
	var b strings.Builder
	for _, r := range rows[:kept] {
		b.WriteString(r.line(limit))
	}
	if kept < len(rows) {
		b.WriteString(omittedTools(len(rows) - kept))
	}
	text = b.String()
	return text, units(text) <= budget
}

func omittedTools(n int) string {
	return fmt.Sprintf("%s without room here: find them with tool_search.\n", count(n, "more tool"))
}
