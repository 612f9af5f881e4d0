package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

type editArgs struct {
	Path  string `json:"path"`
	Edits []struct {
		OldText string `json:"oldText"`
		NewText string `json:"newText"`
	} `json:"edits"`
}

// edited is what edit did.
type edited struct {
	Changed bool `json:"changed"`
	// FirstChangedLine counts from 1, in the new text.
	FirstChangedLine int    `json:"firstChangedLine,omitempty"`
	Added            int    `json:"added"`
	Removed          int    `json:"removed"`
	Diff             string `json:"diff,omitempty"`
	DiffTruncated    bool   `json:"diffTruncated,omitempty"`
}

// shownMatches bounds the places that an ambiguous edit is told of.
const shownMatches = 5

func (w *workspace) editTool() Func {
	return coreTool("edit",
		"Change parts of a text file of the workspace. Each oldText must stand exactly once in the file as it is now, blanks and line ends included; all edits are made, or none.",
		`{"type":"object","properties":{`+
			`"path":{"type":"string","minLength":1,"description":"file, relative to the workspace"},`+
			`"edits":{"type":"array","minItems":1,"maxItems":200,"description":"they must not overlap","items":{"type":"object","properties":{`+
			`"oldText":{"type":"string","minLength":1,"description":"exact text that stands once in the file"},`+
			`"newText":{"type":"string","description":"what to put in its place"}},"required":["oldText","newText"],"additionalProperties":false}}},`+
			`"required":["path","edits"],"additionalProperties":false}`,
		`{"type":"object","properties":{`+
			`"changed":{"type":"boolean"},"firstChangedLine":{"type":"integer"},"added":{"type":"integer","description":"lines"},"removed":{"type":"integer"},`+
			`"diff":{"type":"string","description":"changed lines, at most 8 KiB"},"diffTruncated":{"type":"boolean"}},`+
			`"required":["changed","added","removed"]}`,
		w.edit)
}

// edit makes all edits of one file, or none.
func (w *workspace) edit(ctx context.Context, in editArgs) (*edited, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	at, before, err := w.target(in.Path)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, refusedPath(in.Path, "doesn't exist in the workspace: use write to create it")
	}
	raw, before, err := w.readWhole(in.Path, at)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(raw) {
		return nil, refusedPath(in.Path, "is no UTF-8 text: edit changes text files only")
	}
	text := string(raw)
	places, err := in.locate(ctx, text)
	if err != nil {
		return nil, err
	}
	d := diff{text: text}
	for _, p := range places {
		d.replace(p)
	}
	after, out := d.end()
	if out.Changed = after != text; !out.Changed {
		return &out, nil
	}
	if err := w.replace(in.Path, at, before, after); err != nil {
		return nil, err
	}
	return &out, nil
}

// place is one edit at its place in the text: the bytes from start to end become text.
type place struct {
	start, end int
	text       string
	index      int // of the edit, for messages
}

// locate finds the place of each edit, and gives them in the order of the text.
func (in *editArgs) locate(ctx context.Context, text string) ([]place, error) {
	places := make([]place, 0, len(in.Edits))
	for i, e := range in.Edits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.OldText == "" {
			return nil, refused(schemas.CallInputContract, atInput, "edits[%d].oldText: expected a text that stands in the file, got an empty one", i)
		}
		at := strings.Index(text, e.OldText)
		if at < 0 {
			return nil, in.missing(i, text)
		}
		if strings.Contains(text[at+1:], e.OldText) {
			return nil, in.ambiguous(i, text)
		}
		places = append(places, place{at, at + len(e.OldText), e.NewText, i})
	}
	slices.SortFunc(places, func(a, b place) int { return a.start - b.start })
	for i := 1; i < len(places); i++ {
		if a, b := places[i-1], places[i]; b.start < a.end {
			return nil, in.refuse(fmt.Sprintf("edits[%d] and edits[%d] overlap in line %d: make one edit of them",
				min(a.index, b.index), max(a.index, b.index), lineOf(text, b.start)))
		}
	}
	return places, nil
}

func (in *editArgs) missing(i int, text string) error {
	old := in.Edits[i].OldText
	why := "read the file and copy the text exactly, with its blanks"
	switch {
	case strings.Contains(old, "\n") && strings.Contains(text, strings.ReplaceAll(old, "\n", "\r\n")):
		why = `the lines of the file end in "\r\n": write them so`
	case strings.Contains(text, strings.TrimSpace(old)) && strings.TrimSpace(old) != "":
		why = fmt.Sprintf("line %d has it with other blanks around it", lineOf(text, strings.Index(text, strings.TrimSpace(old))))
	}
	return in.refuse(fmt.Sprintf("edits[%d].oldText isn't in it: %s", i, why))
}

func (in *editArgs) ambiguous(i int, text string) error {
	old := in.Edits[i].OldText
	var lines []string
	for at := 0; len(lines) < shownMatches; at++ {
		next := strings.Index(text[at:], old)
		if next < 0 {
			break
		}
		at += next
		lines = append(lines, fmt.Sprint(lineOf(text, at)))
	}
	return in.refuse(fmt.Sprintf("edits[%d].oldText stands in it more than once (lines %s): add the text around the one that you mean",
		i, strings.Join(lines, ", ")))
}

// refuse says why no edit was made.
func (in *editArgs) refuse(why string) error {
	return refusedPath(in.Path, "is left as it is: "+why)
}

// lineOf is the line, counted from 1, of a byte of a text.
func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }
