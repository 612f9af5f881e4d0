package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// text reads a file, or standard input for "-", that has at most limit bytes of text; mend says what to do about a longer
// one. Reading a terminal ends with ctx.
func (a *app) text(ctx context.Context, path, what string, limit int, mend string) (string, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("can't read %s: %w", what, err)
		}
		defer f.Close()
		in = f
	}
	b, err := readAll(ctx, io.LimitReader(in, int64(limit)+1))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("can't read %s: %w", what, err)
	case len(b) > limit:
		return "", fmt.Errorf("%s is longer than %d bytes: %s", what, limit, mend)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s isn't UTF-8 text: convert it", what)
	}
	return string(b), nil
}

// readAll is io.ReadAll until ctx ends. What blocks then is left behind, with the process.
func readAll(ctx context.Context, in io.Reader) ([]byte, error) {
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		b, err := io.ReadAll(in)
		done <- read{b, err}
	}()
	select {
	case r := <-done:
		return r.b, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
