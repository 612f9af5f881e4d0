package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/codecell/codecell/schemas"
)

const (
	// firstWait is before the first retry; it doubles with each, up to maxWait.
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
	// maxRetryAfter is the longest that a provider may ask to be waited for.
	maxRetryAfter = time.Minute
	// maxTold is how much of a provider's own words an error has, in bytes.
	maxTold = 500
)

// faultError is a request that failed, or its answer. No tool has run for it.
type faultError struct {
	// status is the HTTP status, or 0.
	status int
	text   string
	// retry: the same request may be sent again, after the given time if the provider has named one.
	retry bool
	after time.Duration
}

func (e *faultError) Error() string { return e.text }

// backoff is the time before a request is sent again after it has failed n times.
func (e *faultError) backoff(n int) time.Duration {
	if e.after > 0 {
		return e.after
	}
	wait := min(maxWait, firstWait<<min(n-1, 10))
	return wait/2 + rand.N(wait/2) // so that many don't come back at once
}

// lost is a fault of the way to the provider or back.
func lost(text string) *faultError { return &faultError{text: text, retry: true} }

// refusal is the fault that an answer with a status of failure stands for.
func (p *Provider) refusal(res *http.Response, body []byte) *faultError {
	f := p.told(res.StatusCode, body)
	if f.retry = f.retry && res.Header.Get("X-Should-Retry") != "false"; f.retry {
		f.after = retryAfter(res.Header, time.Now())
	}
	if f.after > maxRetryAfter {
		f.retry = false
		f.text += fmt.Sprintf("; it asks to be left alone for %s, which is longer than a turn waits (%s): try again then",
			f.after.Round(time.Second), maxRetryAfter)
	}
	return f
}

// fullWords are those of providers whose model's context window is full. They have no code in common.
var fullWords = regexp.MustCompile(`(?i)context[ _-]?(length|window|size)|maximum (context|prompt|input)|(prompt|input|request) (is )?too (long|large)|too many (input )?tokens`)

// told says what a provider's own words for a failure come to.
func (p *Provider) told(status int, body []byte) *faultError {
	said, code := explained(body)
	said = p.quote(said)
	name := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	f := &faultError{status: status, text: "the provider answered " + name}
	if said != "" {
		f.text += ": " + said
	}
	full := code == "context_length_exceeded" || (status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge) && fullWords.MatchString(said)
	switch {
	case full:
		f.text += ". The conversation doesn't fit into the model's context window: begin another session, show the model fewer tools " +
			"(mode code or search), or tell models.<pattern>.contextTokens, so that old messages are left out"
	case status >= 300 && status < 400:
		f.text += ". A turn follows no redirection, since the conversation and the key would follow: put the final address into provider.url"
	case status == http.StatusUnauthorized && p.Key == "":
		f.text += ". No key was sent: put it into " + schemas.DefaultKeyEnv + ", or the environment variable that provider.apiKeyEnv names"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.text += ". Check the key, which is in the environment variable that provider.apiKeyEnv names, and what it may do"
	case status == http.StatusNotFound:
		f.text += ". Check provider.url, which must end where chat/completions follows, such as in /v1, and the model's name"
	case code == "insufficient_quota": // a 429 that waiting doesn't help
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests,
		status >= 500 && status != http.StatusNotImplemented:
		f.retry = true
	}
	return f
}

// toldWithin is the fault in an answer, or in an event of a stream, whose status was good: nil if there is none. Such an
// error may name its own status, as those of routers do; one that names none may pass.
func (p *Provider) toldWithin(said []byte) *faultError {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(said, &e); err != nil || len(e.Error) == 0 || string(e.Error) == "null" {
		return nil //nolint:nilerr // what can't be read says nothing of a fault
	}
	status := http.StatusOK
	var named struct {
		Code   json.Number `json:"code"`
		Status json.Number `json:"status"`
	}
	_ = json.Unmarshal(e.Error, &named) // one that isn't a number isn't a status
	for _, number := range []json.Number{named.Status, named.Code} {
		if n, err := number.Int64(); err == nil && n >= 400 && n < 600 {
			status = int(n)
		}
	}
	f := p.told(status, said)
	f.retry = f.retry || status == http.StatusOK
	return f
}

// explained finds the message and the code in what a provider says of a failure, whose form is its own.
func explained(body []byte) (message, code string) {
	type fault struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
	}
	rest := bytes.TrimSpace(body)
	for range 3 { // {"error":{…}}, [{"error":{…}}], {"error":"…"}, {"message":…}, {"detail":…}
		var list []json.RawMessage
		if json.Unmarshal(rest, &list) == nil && len(list) > 0 {
			rest = list[0]
		}
		var f fault
		if json.Unmarshal(rest, &f) != nil {
			break
		}
		if message = f.Message; message != "" || len(f.Error)+len(f.Detail) == 0 {
			return message, cmp.Or(strings.Trim(string(f.Code), `"`), f.Type)
		}
		rest = slices.Concat(f.Error, f.Detail)
	}
	var text string
	if json.Unmarshal(rest, &text) != nil {
		text = string(rest)
	}
	return text, ""
}

// readable is a text from a provider as one line of an error.
func readable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxTold {
		text = schemas.Prefix(text, maxTold) + "…"
	}
	return text
}

// retryAfter is the time that a provider asks to be waited for; 0 if it doesn't.
func retryAfter(h http.Header, now time.Time) time.Duration {
	number := func(header string, unit time.Duration) time.Duration {
		n, err := strconv.ParseFloat(h.Get(header), 64)
		if err != nil || !(n > 0) { // NaN isn't
			return 0
		}
		return time.Duration(min(n, math.MaxInt32) * float64(unit))
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now))
	}
	return cmp.Or(number("Retry-After-Ms", time.Millisecond), number("Retry-After", time.Second))
}

// unreachable is the fault of a request that had no answer.
func (p *Provider) unreachable(err error) *faultError {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which is told
	}
	return lost(fmt.Sprintf("the provider at %s can't be reached: %s", p.mask(p.URL), p.quote(err.Error())))
}
