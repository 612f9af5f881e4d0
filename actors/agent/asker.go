package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/codecell/codecell/schemas"
)

// asker asks the provider on behalf of one turn.
type asker struct {
	turn    *running
	service openai.ChatCompletionService
	// tools are those of the turn's start, in each request the same: prompt caches live of what doesn't change.
	tools     []openai.ChatCompletionToolUnionParam
	toolBytes int
	// uncounted: the provider refuses to be asked for counts in streams.
	uncounted bool
}

func newAsker(r *running) *asker {
	a := &asker{turn: r}
	a.tools, a.toolBytes = offered(&r.run.Surface)
	client := http.DefaultClient
	if r.Provider.HTTP != nil {
		client = r.Provider.HTTP
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	// Not openai.NewClient, which takes keys and addresses from the environment by itself.
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(r.Provider.URL, "/") + "/"), option.WithHTTPClient(&own), option.WithMaxRetries(0),
	}
	if r.Provider.Key != "" {
		options = append(options, option.WithAPIKey(r.Provider.Key))
	}
	a.service = openai.NewChatCompletionService(options...)
	return a
}

// ask asks for the n-th time in the turn, and again if that is safe: no tool runs before the answer is complete. With an
// error there may be an answer as well, which is what had come of it.
func (a *asker) ask(ctx context.Context, n int, messages []openai.ChatCompletionMessageParamUnion) (*answer, error) {
	for attempt := 1; ; attempt++ {
		t := &try{asker: a, request: n, attempt: attempt}
		got, err := t.do(ctx, messages)
		if err == nil {
			return got, nil
		}
		f, ok := errors.AsType[*faultError](err)
		switch {
		case ctx.Err() != nil:
			return got, context.Cause(ctx)
		case !ok:
			return nil, err
		case a.yield(f):
			continue
		case !f.retry && attempt == 1:
			return nil, f
		case !f.retry || attempt > a.turn.Provider.Retries:
			return nil, fmt.Errorf("%w (asked %d times)", f, attempt)
		}
		wait := f.backoff(attempt)
		a.turn.report.Entry.Retries++
		a.turn.observe(Retrying{Attempt: attempt, Wait: wait, Why: f.text})
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// yield changes what is asked, where the provider refuses a part of it that a turn can do without, and tells whether it did.
func (a *asker) yield(f *faultError) bool {
	switch {
	case f.status < 400 || f.status >= 500:
	case !a.uncounted && strings.Contains(f.text, "stream_options"):
		a.uncounted = true
		return true
	case len(a.turn.imagesAt) > 0 && strings.Contains(strings.ToLower(f.text), "image"):
		a.turn.blindfold()
		return true
	}
	return false
}

// try is one request.
type try struct {
	asker            *asker
	request, attempt int

	vigil *vigil
	// bytes are the size of the request's body, toolBytes that of its tools in it; status that of the answer, 0 if none came.
	bytes, toolBytes, status int
	// full is an answer in one piece that came where a stream was asked for.
	full *openai.ChatCompletion
	// trace is nil unless the transport is to be shown.
	trace *wireTrace
}

func (t *try) do(ctx context.Context, messages []openai.ChatCompletionMessageParamUnion) (*answer, error) {
	r, start := t.asker.turn, time.Now()
	trying, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.vigil = newVigil(cmp.Or(r.Provider.Silence, defaultSilence), cancel)
	defer t.vigil.end()
	t.trace = r.traceWire(t)

	g := &gathering{heard: func(text string) { r.observe(Delta{Text: text}) }, mask: r.Provider.mask, secret: r.Provider.secret()}
	err := t.fetch(trying, g, openai.ChatCompletionNewParams{Model: r.Provider.Model, Messages: messages, Tools: t.asker.tools})
	if f := t.vigil.fault(trying); err != nil && f != nil && ctx.Err() == nil {
		err = f
	}
	g.end()
	got := g.answer()
	got.sent = t.bytes
	if e := &r.report.Entry; t.bytes > 0 {
		e.Requests++
		e.RequestBytes += int64(t.bytes)
	}
	r.fact(&schemas.TurnRequested{
		At: start.UnixNano(), Host: r.run.Host, Run: r.run.ID, Request: t.request, Attempt: t.attempt, Bytes: t.bytes, ToolBytes: t.toolBytes,
		Status: t.status, Failed: err != nil, DurationUs: time.Since(start).Microseconds(), Usage: got.usage, ToolCalls: len(got.calls) + got.dropped,
	})
	t.trace.end(got, err, time.Since(start))
	return got, err
}

// fetch sends the request and gathers its answer.
func (t *try) fetch(ctx context.Context, g *gathering, params openai.ChatCompletionNewParams) error {
	watched := option.WithMiddleware(t.watch) // the last of all, so that it sees what leaves
	if t.asker.turn.Provider.NoStream {
		whole, err := t.asker.service.New(ctx, params, watched)
		if err != nil {
			return t.fault(err)
		}
		return t.whole(g, whole)
	}
	if !t.asker.uncounted {
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	stream := t.asker.service.NewStreaming(ctx, params, watched)
	defer stream.Close()
	for stream.Next() {
		chunk, over := stream.Current(), g.finish != ""
		if t.trace.chunk(&chunk); g.chunk(&chunk) && !over {
			t.vigil.useful()
		}
		if g.finish != "" {
			t.vigil.hurry()
		}
	}
	switch err := stream.Err(); {
	case t.full != nil:
		return t.whole(g, t.full)
	case err != nil && g.finish == "":
		return t.fault(err)
	}
	if err := g.complete(); err != nil { // what follows its end, as counts do, may be missing
		return lost(err.Error())
	}
	return nil
}

func (t *try) whole(g *gathering, c *openai.ChatCompletion) error {
	if f := t.asker.turn.Provider.toldWithin([]byte(c.RawJSON())); f != nil && len(c.Choices) == 0 {
		return f
	}
	if err := g.whole(c); err != nil {
		return lost(err.Error())
	}
	if err := g.complete(); err != nil {
		return lost(err.Error())
	}
	return nil
}

// fault says what an error of the SDK is.
func (t *try) fault(err error) error {
	p := &t.asker.turn.Provider
	if f, ok := errors.AsType[*faultError](err); ok {
		return f
	}
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*ssestream.StreamError](err); ok { // in the middle of a stream whose status was good
		if f := p.toldWithin(e.Event.Data); f != nil {
			return f
		}
	}
	if t.status == 0 {
		return p.unreachable(err)
	}
	return lost("the provider's answer broke off or can't be read: " + p.quote(err.Error()))
}

// watch stands between the SDK and the wire: it holds the request against the surface (A4) and the answer to its bounds.
func (t *try) watch(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	sent, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	if t.toolBytes, err = checkPayload(&t.asker.turn.run.Surface, sent); err != nil {
		return nil, err
	}
	t.bytes = len(sent)
	t.trace.sent(sent)
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	t.status = res.StatusCode
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	stream := !t.asker.turn.Provider.NoStream
	res.Body = &body{ReadCloser: res.Body, vigil: t.vigil, shape: shape{events: !isJSON}}
	switch {
	case t.status < 200 || t.status > 299:
		said, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
		_ = res.Body.Close() // it was read
		if err != nil && len(said) == 0 {
			said = []byte("(its body can't be read)")
		}
		return nil, t.asker.turn.Provider.refusal(res, said)
	case stream && isJSON: // a provider that doesn't stream
		t.full = new(openai.ChatCompletion)
		err := json.NewDecoder(res.Body).Decode(t.full)
		_ = res.Body.Close() // it was read
		if err != nil {
			t.full = nil
			return nil, err
		}
		res.Body = http.NoBody
		return res, nil
	case stream && kind == "text/event-stream", !stream && isJSON, kind == "" && stream:
		return res, nil
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // as much of it as there is
	_ = res.Body.Close()                                        // nobody wants the rest
	return nil, &faultError{status: t.status, text: fmt.Sprintf(
		"the provider answered with %q, where a turn reads application/json or text/event-stream; check provider.url. It begins: %s",
		t.asker.turn.Provider.quote(kind), t.asker.turn.Provider.quote(string(said)))}
}

// bodyOf reads a request's body, which is there again afterwards.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	b, err := io.ReadAll(req.Body)
	_ = req.Body.Close() // it was read
	req.Body = io.NopCloser(bytes.NewReader(b))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	req.ContentLength = int64(len(b))
	return b, err
}
