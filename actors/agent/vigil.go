package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer bounds an answer, in bytes as they come.
	maxAnswer = 16 << 20
	// maxRefusal is how much is read of an answer that is none.
	maxRefusal = 64 << 10
	// defaultSilence holds where a provider has none.
	defaultSilence = 2 * time.Minute
	// tailSilence is for what follows an answer's end: its counts, and the end of the stream.
	tailSilence = 3 * time.Second
	// maxIdle is how many silences an answer may take without anything of use in it: what only keeps a connection open isn't
	// one, and doesn't hold a turn for ever.
	maxIdle = 10
)

var (
	errSilent   = errors.New("the provider has fallen silent")
	errIdle     = errors.New("the provider sends nothing of use")
	errTooLarge = errors.New("the provider's answer is too large")
	errTooMany  = errors.New("the provider's answer has too many parts")
)

// vigil watches one request: a provider that sends nothing for a while, or nothing of use for long, is given up.
type vigil struct {
	silence time.Duration
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	// used is when something of use came last, as time since start.
	start time.Time
	used  atomic.Int64
	// read counts the answer's bytes.
	read int64
}

func newVigil(silence time.Duration, cancel context.CancelCauseFunc) *vigil {
	return &vigil{
		silence: silence, cancel: cancel, start: time.Now(),
		timer: time.AfterFunc(silence, func() { cancel(errSilent) }),
	}
}

// useful says that something of use has come.
func (v *vigil) useful() { v.used.Store(int64(time.Since(v.start))) }

// hurry says that what matters has come: what may follow isn't waited for as long.
func (v *vigil) hurry() {
	v.silence = min(v.silence, tailSilence)
	v.timer.Reset(v.silence)
}

func (v *vigil) end() { v.timer.Stop() }

// body is an answer's body under watch.
type body struct {
	io.ReadCloser
	vigil *vigil
	shape shape
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	v := b.vigil
	if n > 0 {
		v.timer.Reset(v.silence)
	}
	switch v.read += int64(n); {
	case v.read > maxAnswer:
		v.cancel(errTooLarge)
		return 0, errTooLarge
	case !b.shape.holds(p[:n]):
		v.cancel(errTooMany)
		return 0, errTooMany
	case time.Since(v.start)-time.Duration(v.used.Load()) > maxIdle*v.silence:
		v.cancel(errIdle)
		return 0, errIdle
	}
	return n, err
}

// fault tells what the vigil was ended for, nil if it wasn't.
func (v *vigil) fault(ctx context.Context) *faultError {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSilent):
		return lost(fmt.Sprintf("the provider sent nothing for %s (provider.silenceSeconds)", v.silence))
	case errors.Is(cause, errIdle):
		return lost(fmt.Sprintf("the provider kept the connection open for %s and sent nothing of use", maxIdle*v.silence))
	case errors.Is(cause, errTooLarge):
		return &faultError{text: fmt.Sprintf("the provider's answer is larger than %d MiB", maxAnswer>>20)}
	case errors.Is(cause, errTooMany):
		return &faultError{text: fmt.Sprintf("the provider's answer, or one event of it, has more than %d values, which no model's has", maxValues)}
	}
	return nil
}
