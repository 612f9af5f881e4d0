package main

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// text reads a file, or standard input for "-", that has at most limit bytes of text; mend says what to do about a longer
// one.
func (a *app) text(path, what string, limit int, mend string) (string, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("can't read %s: %w", what, err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("can't read %s: %w", what, err)
	case len(b) > limit:
		return "", fmt.Errorf("%s is longer than %d bytes: %s", what, limit, mend)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s isn't UTF-8 text: convert it", what)
	}
	return string(b), nil
}
