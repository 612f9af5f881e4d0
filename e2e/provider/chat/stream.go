package chat

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
	"unicode/utf8"
)

// stream sends an answer in pieces.
type stream struct {
	ctx    context.Context //nolint:containedctx // a stream lives no longer than its request
	w      http.ResponseWriter
	reply  *Reply
	head   head
	pieces int
}

func (s *stream) send(usage bool) (int, error) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	err := s.say(&said{Role: "assistant"})
	for text := range cut(s.reply.Text, s.reply.Delivery.Chunk) {
		if err == nil {
			err = s.say(&said{Content: &text})
		}
	}
	for i, c := range s.reply.Calls {
		first := piece{Index: &i, ID: c.ID, Type: "function"}
		first.Function.Name = c.Function.Name
		if err == nil {
			err = s.say(&said{Calls: []piece{first}})
		}
		for text := range cut(c.Function.Arguments, s.reply.Delivery.Chunk) {
			more := piece{Index: &i}
			more.Function.Arguments = text
			if err == nil {
				err = s.say(&said{Calls: []piece{more}})
			}
		}
	}
	if err != nil || s.reply.Delivery.Trouble == Unfinished {
		return s.pieces, err
	}
	if err = s.chunk(answer{head: s.head, Choices: []choice{{Delta: &said{}, Finish: &s.reply.Finish}}}); err != nil {
		return s.pieces, err
	}
	if usage {
		if err = s.chunk(answer{head: s.head, Choices: []choice{}, Usage: &s.reply.Usage}); err != nil {
			return s.pieces, err
		}
	}
	return s.pieces, s.data("[DONE]")
}

// say sends a piece of the message, in its time and with its trouble.
func (s *stream) say(delta *said) error {
	d := &s.reply.Delivery
	if s.pieces == d.After {
		switch d.Trouble {
		case Drop:
			return http.ErrAbortHandler
		case Stall:
			<-s.ctx.Done()
			return s.ctx.Err()
		case Garbage:
			if err := s.data(`{"choices": [{"del`); err != nil {
				return err
			}
		case Unfinished: // is at the end
		}
	}
	if err := pause(s.ctx, d.DelayMs); err != nil {
		return err
	}
	s.pieces++
	return s.chunk(answer{head: s.head, Choices: []choice{{Delta: delta}}})
}

func (s *stream) chunk(a answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return s.data(string(text))
}

func (s *stream) data(text string) error {
	if _, err := io.WriteString(s.w, "data: "+text+"\n\n"); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// cut yields a text in pieces of so many characters, 12 for 0.
func cut(text string, size int) func(yield func(string) bool) {
	if size <= 0 {
		size = 12
	}
	return func(yield func(string) bool) {
		for text != "" {
			end := 0
			for n := 0; n < size && end < len(text); n++ {
				_, width := utf8.DecodeRuneInString(text[end:])
				end += width
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// pause waits, unless the client goes.
func pause(ctx context.Context, ms int) error {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
