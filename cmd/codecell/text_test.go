package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// Ctrl-C ends a command that reads what somebody types.
func TestSpec_V2_ReadingEndsWithTheCommand(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := (&app{in: in}).text(ctx, "-", "the program", 100, "less")
		ended <- err
	}()
	if _, err := typed.Write([]byte("return")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if got, err := (&app{in: strings.NewReader("return 1")}).text(t.Context(), "-", "the program", 100, "less"); got != "return 1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
