package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Reply is a model's answer.
type Reply struct {
	Text  string
	Calls []ToolCall
	// Finish is the reason why it ends; empty for the one that fits.
	Finish string
	// Usage of zero is counted: a token for four bytes.
	Usage    Usage
	Delivery Delivery
}

// Usage counts tokens.
type Usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// Trouble is what goes wrong with an answer.
type Trouble string

const (
	// Drop ends the connection.
	Drop Trouble = "drop"
	// Stall sends nothing more for as long as the client stays.
	Stall Trouble = "stall"
	// Garbage sends a chunk that isn't JSON, and goes on.
	Garbage Trouble = "garbage"
	// Unfinished ends the stream in good order, without a reason and without its end mark.
	Unfinished Trouble = "unfinished"
)

// Delivery is how an answer is sent.
type Delivery struct {
	// Chunk is how many characters each piece of a stream has; 12 unless given.
	Chunk int `json:"chunk,omitempty"`
	// DelayMs is the time before each piece, in milliseconds.
	DelayMs int `json:"delayMs,omitempty"`
	// Trouble begins after After pieces of a stream, and at once in a whole answer.
	Trouble Trouble `json:"trouble,omitempty"`
	After   int     `json:"after,omitempty"`
}

// Send writes the answer to a request, and tells how many pieces were sent. It returns an error if the client has gone
// or the connection is to be dropped.
func (a *Reply) Send(ctx context.Context, w http.ResponseWriter, r *Request, n int) (pieces int, err error) {
	if a.Finish == "" {
		a.Finish = "stop"
		if len(a.Calls) > 0 {
			a.Finish = "tool_calls"
		}
	}
	if a.Usage == (Usage{}) {
		a.Usage.Prompt, a.Usage.Completion = (len(r.Body)+3)/4, (a.Size()+3)/4
	}
	a.Usage.Total = a.Usage.Prompt + a.Usage.Completion
	if !r.Stream {
		return 0, a.whole(ctx, w, r, n)
	}
	s := &stream{ctx: ctx, w: w, reply: a, head: head{
		ID: fmt.Sprintf("chatcmpl-%d", n), Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: r.Model,
	}}
	return s.send(r.StreamOptions.IncludeUsage)
}

// Size is how much the model writes, in bytes: its text, and names and arguments of calls.
func (a *Reply) Size() int {
	n := len(a.Text)
	for _, c := range a.Calls {
		n += len(c.Function.Name) + len(c.Function.Arguments)
	}
	return n
}

// head is what every answer begins with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

// said is a message, or a piece of one.
type said struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	Calls   []piece `json:"tool_calls,omitempty"`
}

// piece is a tool call, or a part of one.
type piece struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// choice is the one choice of an answer.
type choice struct {
	Index   int     `json:"index"`
	Message *said   `json:"message,omitempty"`
	Delta   *said   `json:"delta,omitempty"`
	Finish  *string `json:"finish_reason"`
}

// answer is a whole answer or a chunk of a stream.
type answer struct {
	head
	Choices []choice `json:"choices"`
	Usage   *Usage   `json:"usage,omitempty"`
}

func (a *Reply) whole(ctx context.Context, w http.ResponseWriter, r *Request, n int) error {
	if err := pause(ctx, a.Delivery.DelayMs); err != nil {
		return err
	}
	m := &said{Role: "assistant", Content: &a.Text}
	for _, c := range a.Calls {
		p := piece{ID: c.ID, Type: "function"}
		p.Function.Name, p.Function.Arguments = c.Function.Name, c.Function.Arguments
		m.Calls = append(m.Calls, p)
	}
	body, err := json.Marshal(answer{
		head:    head{ID: fmt.Sprintf("chatcmpl-%d", n), Object: "chat.completion", Created: time.Now().Unix(), Model: r.Model},
		Choices: []choice{{Message: m, Finish: &a.Finish}}, Usage: &a.Usage,
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	switch a.Delivery.Trouble {
	case Stall:
		<-ctx.Done()
		return ctx.Err()
	case Garbage:
		_, err = io.WriteString(w, `{"choices": [{"mess`)
		return err
	case Drop, Unfinished:
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		return http.ErrAbortHandler
	}
	_, err = w.Write(body)
	return err
}
