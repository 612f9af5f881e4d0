package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// row is a surface with the means of its trials.
type row struct {
	Catalog string `json:"catalog"`
	Source  string `json:"source"`
	Surface string `json:"surface"`
	Tools   int    `json:"tools"`
	Tasks   int    `json:"tasks"`
	// Times is how often a task's tool is to be called.
	Times int `json:"times"`
	// ShownBytes are the tools and the instructions of a first request, RequestBytes all bodies of a turn, SaidBytes what the
	// model wrote.
	ShownBytes   float64 `json:"shownBytes"`
	RequestBytes float64 `json:"requestBytes"`
	SaidBytes    float64 `json:"saidBytes"`
	Requests     float64 `json:"requests"`
	Searches     float64 `json:"searches"`
	Describes    float64 `json:"describes"`
	Calls        float64 `json:"calls"`
	// Solved is the share of tasks whose tool was called.
	Solved float64 `json:"solved"`
	// Missed are the tools that should have been called and weren't.
	Missed []string `json:"missed,omitempty"`
}

func (r *row) add(t *trial) {
	if !t.Solved {
		r.Missed = append(r.Missed, t.Tool)
	}
	r.Tasks++
	n := float64(r.Tasks)
	for mean, value := range map[*float64]int{
		&r.ShownBytes: t.Shown, &r.RequestBytes: t.Bytes, &r.SaidBytes: t.Said, &r.Requests: t.Requests,
		&r.Searches: t.Searches, &r.Describes: t.Describes, &r.Calls: t.Calls, &r.Solved: rank(!t.Solved),
	} {
		*mean += (float64(value) - *mean) / n
	}
}

func (r *row) title() string {
	calls := "one call"
	if r.Times > 1 {
		calls = fmt.Sprintf("%d calls", r.Times)
	}
	return fmt.Sprintf("%s, %d tools of %s, %d tasks of %s", r.Catalog, r.Tools, r.Source, r.Tasks, calls)
}

func (r *row) print(out io.Writer) error { return json.NewEncoder(out).Encode(r) }

// table prints rows as a table of Markdown.
func table(out io.Writer, rows []row) {
	last := ""
	for _, r := range rows {
		if title := r.title(); title != last {
			last = title
			fmt.Fprintf(out, "\n%s:\n\n", title)
			fmt.Fprintln(out, "| Surface | Tools and prompt, bytes | Requests | Their bytes | Written, bytes | Searches | Describes | Calls | Solved |")
			fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")
		}
		fmt.Fprintf(out, "| %s | %.0f | %.1f | %.0f | %.0f | %.1f | %.1f | %.1f | %.0f %% |\n",
			r.Surface, r.ShownBytes, r.Requests, r.RequestBytes, r.SaidBytes, r.Searches, r.Describes, r.Calls, 100*r.Solved)
	}
}
