package run

import (
	"context"
	"fmt"
	"log/slog"
)

// Logger gives a logger that masks what a log shouldn't have (P7, B5): credentials of known forms, registered secrets,
// and matches of the configured patterns. Numbers, times and truth values pass as they are.
func (r *Redactor) Logger(log *slog.Logger) *slog.Logger {
	if _, ok := log.Handler().(*redacting); ok {
		return log
	}
	return slog.New(&redacting{next: log.Handler(), redactor: r})
}

// redacting is a handler of log records that masks their texts.
type redacting struct {
	next     slog.Handler
	redactor *Redactor
}

// Enabled is the next handler's word.
func (h *redacting) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle masks a record and passes it on.
func (h *redacting) Handle(ctx context.Context, record slog.Record) error {
	masked := slog.NewRecord(record.Time, record.Level, h.redactor.Text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, masked)
}

// WithAttrs masks attributes that all further records have.
func (h *redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return &redacting{next: h.next.WithAttrs(masked), redactor: h.redactor}
}

// WithGroup opens a group of attributes.
func (h *redacting) WithGroup(name string) slog.Handler {
	return &redacting{next: h.next.WithGroup(name), redactor: h.redactor}
}

func (h *redacting) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		a.Value = h.text(a.Key, value.String())
	case slog.KindAny: // an error, or whatever a tool has panicked with
		a.Value = h.text(a.Key, fmt.Sprint(value.Any()))
	case slog.KindGroup:
		group := value.Group()
		masked := make([]slog.Attr, len(group))
		for i, member := range group {
			masked[i] = h.attr(member)
		}
		a.Value = slog.GroupValue(masked...)
	default:
		a.Value = value
	}
	return a
}

func (h *redacting) text(key, text string) slog.Value {
	if isCredential(key) && !isHarmless(text) {
		return slog.StringValue(cover(text))
	}
	return slog.StringValue(h.redactor.Text(text))
}
