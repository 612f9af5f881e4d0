package run

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_P7_B5_LogsAreMasked(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{Secrets: []string{"plain-secret"}, Patterns: []string{`CUST-\d+`}})
	var out bytes.Buffer
	log := r.Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if r.Logger(log) != log {
		t.Error("a logger is wrapped twice")
	}
	log.With("owner", "plain-secret").WithGroup("g").Warn("lost CUST-12",
		"error", errors.New("dial https://me:hunter2@host"), "panic", []string{"sk-abcdefghijklmnop0123"}, "token", "abc",
		slog.Group("more", "text", "plain-secret", "n", 7), "within", time.Second)
	const want = `level=WARN msg="lost [redacted]" owner=[redacted] g.error="dial https://me:[redacted]@host" g.panic=[[redacted]] g.token=[redacted]` +
		` g.more.text=[redacted] g.more.n=7 g.within=1s`
	if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if log.Enabled(context.Background(), slog.LevelInfo) {
		t.Error("a level is on that the logger doesn't have")
	}
}
