package chat

import (
	"encoding/json"
	"io"
	"sync"
)

// Record is a line of a provider's log. A request has two: one when it has come, and one when it was answered.
type Record struct {
	// Request counts from 1.
	Request int `json:"request"`
	// Ended: this is the second line, which has only the fields from Status on.
	Ended bool `json:"ended,omitempty"`

	Model     string   `json:"model,omitempty"`
	Prompt    string   `json:"prompt,omitempty"`
	Stream    bool     `json:"stream,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	Bytes     int      `json:"bytes,omitempty"`
	ToolBytes int      `json:"toolBytes,omitempty"`
	// SystemBytes is the size of the instructions.
	SystemBytes int             `json:"systemBytes,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`

	Status int `json:"status,omitempty"`
	// Said is how much the model wrote: its text, and names and arguments of calls.
	Said int `json:"said,omitempty"`
	// Problems say what was wrong with the request.
	Problems []string `json:"problems,omitempty"`
	// Pieces are those of a stream that were sent, and Gone tells that the client didn't stay for the rest.
	Pieces int  `json:"pieces,omitempty"`
	Gone   bool `json:"gone,omitempty"`
}

// Log writes records as JSON lines, one at a time.
type Log struct {
	mu sync.Mutex
	w  io.Writer
	n  int
	// Bare leaves the bodies out.
	Bare bool
}

// NewLog makes a log.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// Came writes the first record of a request, which may be nil if it couldn't be read, and gives its number.
func (l *Log) Came(r *Request) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	rec := Record{Request: l.n}
	if r != nil {
		rec.Model, rec.Prompt, rec.Stream, rec.Tools = r.Model, r.Prompt(), r.Stream, r.ToolNames()
		rec.Bytes, rec.ToolBytes, rec.SystemBytes = len(r.Body), r.ToolBytes, len(r.System())
		if !l.Bare {
			rec.Body = r.Body
		}
	}
	return l.n, l.write(&rec)
}

// Ended writes the second.
func (l *Log) Ended(rec Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec.Ended = true
	return l.write(&rec)
}

func (l *Log) write(rec *Record) error {
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	_, err = l.w.Write(append(line, '\n'))
	return err
}
