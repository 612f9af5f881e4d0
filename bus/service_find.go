package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Bounds of one look for a service: what comes after them is left out.
const (
	maxInstances = 256
	maxInfoBytes = 16 << 20 // of all instances together
)

// Instance is one running process of a NATS micro service, as it describes itself: nothing in it was checked.
type Instance struct {
	ID, Version, Description string
	Endpoints                []Endpoint
}

// FindService asks for the running instances of a NATS micro service by its name, in any language, and takes answers for as
// long as window says, in the order of their ids. Nobody there is [ErrNoResponders], which NATS says at once. Answers that
// can't be read, or are another service's, are left out.
func FindService(ctx context.Context, c *Conn, name string, window time.Duration) ([]Instance, error) {
	subject, err := micro.ControlSubject(micro.InfoVerb, name, "")
	if err != nil {
		return nil, fmt.Errorf("find service %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	inbox := c.nats.NewInbox()
	answers, err := c.nats.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("find service %s: %w", name, err)
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only if closed already
	if err := c.nats.PublishRequest(subject, inbox, nil); err != nil {
		return nil, fmt.Errorf("find service %s: %w", name, err)
	}
	found := map[string]Instance{}
	for taken := 0; len(found) < maxInstances && taken < maxInfoBytes; {
		m, err := answers.NextMsgWithContext(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if errors.Is(err, nats.ErrNoResponders) {
			return nil, noResponders(subject)
		}
		if err != nil {
			return nil, fmt.Errorf("find service %s: %w", name, err)
		}
		taken += len(m.Data)
		if i, ok := readInstance(m.Data, name); ok {
			found[i.ID] = i
		}
	}
	all := make([]Instance, 0, len(found))
	for _, i := range found {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

func readInstance(data []byte, name string) (Instance, bool) {
	var info micro.Info
	if err := json.Unmarshal(data, &info); err != nil || info.Name != name || info.ID == "" {
		return Instance{}, false
	}
	i := Instance{ID: info.ID, Version: info.Version, Description: info.Description}
	for _, e := range info.Endpoints {
		i.Endpoints = append(i.Endpoints, Endpoint{Name: e.Name, Subject: e.Subject, Queue: e.QueueGroup, Metadata: e.Metadata})
	}
	return i, true
}

// ServiceError is the error that a micro service answered with.
type ServiceError struct {
	// Code and Description are its headers; Body is what it answered beside them.
	Code, Description string
	Body              []byte
}

func (e *ServiceError) Error() string {
	switch {
	case e.Description == "":
		return "error " + e.Code
	case e.Code == "":
		return e.Description
	}
	return e.Description + " (" + e.Code + ")"
}

// AskService sends a request as it is, with headers, to an endpoint of a micro service, and gives the answer's bytes as they
// came. Nobody there is [ErrNoResponders] and a request over the payload limit [ErrTooLarge]: nobody got it then. An answer
// with the error headers of micro services is a [*ServiceError]. When ctx ends its error is returned; the service may be at work.
// sent, unless it is nil, is called once the request is on its way, before the answer is awaited.
func AskService(ctx context.Context, c *Conn, subject string, header map[string]string, body []byte, sent func()) ([]byte, error) {
	m := nats.NewMsg(subject)
	m.Data = body
	for key, value := range header {
		m.Header.Set(key, strings.ToValidUTF8(value, "\uFFFD"))
	}
	if n := int64(len(body)); n > c.nats.MaxPayload() {
		return nil, fmt.Errorf("ask %s: %w", subject, &sizeError{size: n, limit: c.nats.MaxPayload()})
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	token, answer := c.inbox.open()
	defer c.inbox.drop(token)
	m.Reply = c.inbox.prefix + token
	switch err := c.nats.PublishMsg(m); {
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("ask %s: %w: its headers count as well", subject, ErrTooLarge)
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", subject, c.publishError(subject, err))
	}
	if sent != nil {
		sent()
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, fmt.Errorf("ask %s: %w", subject, ErrDisconnected)
		case isNoResponders(m):
			return nil, noResponders(subject)
		}
		code, description := m.Header.Get(micro.ErrorCodeHeader), m.Header.Get(micro.ErrorHeader)
		if code == "" && description == "" {
			return c.fetched(ctx, m)
		}
		if !utf8.Valid(m.Data) {
			m.Data = nil
		}
		return nil, &ServiceError{Code: code, Description: description, Body: m.Data}
	case <-ctx.Done():
		return nil, fmt.Errorf("ask %s: %w", subject, ctx.Err())
	}
}
