package host

import (
	"context"
	"log/slog"
)

// quiet passes on warnings and worse: the actor library tells of its own start and stop.
type quiet struct{ slog.Handler }

// Enabled drops what is below a warning.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs stays quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup stays quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
