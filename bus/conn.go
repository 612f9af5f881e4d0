package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	// DefaultMaxValueBytes is the largest encoded message that may travel, in bytes.
	DefaultMaxValueBytes = 64 << 20
	// dialTimeout bounds one attempt to connect.
	dialTimeout = 5 * time.Second
	// retryWait is the pause between attempts to connect, or to connect again.
	retryWait = 250 * time.Millisecond
	// pendingMsgs and pendingBytes bound what one subscription may have waiting. Beyond it,
	// messages are dropped and counted.
	pendingMsgs  = 65536
	pendingBytes = 256 << 20
	// flushTimeout bounds the barrier after a subscription.
	flushTimeout = 5 * time.Second
)

// Options say how to reach a bus.
type Options struct {
	// URLs of the servers: "nats://host:4222", "tls://…", "ws://…".
	URLs []string
	// Credentials is a NATS credentials file (JWT and seed), NKey a file with an nkey seed,
	// Token a shared secret, User and Password an account of the server's own. One way is enough.
	Credentials, NKey, Token, User, Password string
	// TLSCA, TLSCert and TLSKey are PEM files: whom to trust, and who we are.
	TLSCA, TLSCert, TLSKey string
	// Name of this client, for monitoring.
	Name string
	// InboxPrefix is the prefix of answers to this client's requests, "_INBOX" if empty: a
	// role with narrow permissions has its own.
	InboxPrefix string
	// Wait: if no server can be reached, go on trying until ctx ends.
	Wait bool
	// MaxValueBytes bounds what this connection sends and fetches, [DefaultMaxValueBytes] if 0.
	MaxValueBytes int
	// Logger gets warnings, slog.Default() if nil.
	Logger *slog.Logger
}

// Conn is a connection to the bus. All methods are safe for concurrent use.
type Conn struct {
	nats   *nats.Conn
	js     jetstream.JetStream
	log    *slog.Logger
	inbox  inbox
	values values
	subs   subscriptions
	stats  counters

	close       sync.Once
	lost        chan struct{} // closed when the connection is, whoever closed it
	mu          sync.Mutex
	reconnected map[*func()]func()
}

// Stats count what went wrong on a connection since its start.
type Stats struct {
	// Malformed messages were answered with an error or ignored; Dropped ones came faster
	// than their handlers took them.
	Malformed, Dropped uint64
	// Late answers came after their request had ended.
	Late uint64
	// Pending requests wait for an answer now.
	Pending int
}

type counters struct{ malformed, late atomic.Uint64 }

// Dial connects to a bus of another process.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("connect to the bus: no URL: set bus.urls in the configuration, or run a bus with `codecell up --listen`")
	}
	urls := strings.Join(o.URLs, ",")
	extra, err := o.natsOptions()
	if err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("connect to the bus at %s: %w", schemas.VeilURLs(urls), err)
		}
		if deadline, ok := ctx.Deadline(); ok {
			extra = append(extra, nats.Timeout(min(dialTimeout, time.Until(deadline))))
		}
		c, err := connect(urls, o, extra...)
		if err == nil {
			return c, nil
		}
		if !o.Wait || mistaken(err) {
			return nil, explain(urls, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (gave up waiting: %w)", explain(urls, err), ctx.Err())
		case <-time.After(retryWait):
		}
	}
}

// mistaken tells errors that waiting can't mend.
func mistaken(err error) bool {
	_, parsed := errors.AsType[*url.Error](err)
	_, resolved := errors.AsType[*net.AddrError](err)
	return parsed || resolved || errors.Is(err, nats.ErrAuthorization)
}

func explain(urls string, err error) error {
	urls = schemas.VeilURLs(urls)
	switch {
	case errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired):
		return fmt.Errorf("connect to the bus at %s: %w: check bus.credentials, bus.token, or bus.user and bus.password", urls, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("connect to the bus at %s: %w: check that a server runs there (`codecell up --listen`), the URL and the firewall", urls, err)
	}
	return fmt.Errorf("connect to the bus at %s: %w", urls, err)
}

func (o *Options) natsOptions() ([]nats.Option, error) {
	var opts []nats.Option
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.NKey != "" {
		nkey, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("bus.nkey %s: %w: it must be a file with an nkey seed", o.NKey, err)
		}
		opts = append(opts, nkey)
	}
	if o.TLSCA != "" {
		opts = append(opts, nats.RootCAs(o.TLSCA))
	}
	if o.TLSCert != "" || o.TLSKey != "" {
		if _, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey); err != nil {
			return nil, fmt.Errorf("bus.tls: %w: give a certificate and its key, both in PEM", err)
		}
		opts = append(opts, nats.ClientCert(o.TLSCert, o.TLSKey))
	}
	return opts, nil
}

func connect(urls string, o Options, extra ...nats.Option) (*Conn, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxValueBytes <= 0 {
		o.MaxValueBytes = DefaultMaxValueBytes
	}
	if o.InboxPrefix == "" {
		o.InboxPrefix = "_INBOX"
	}
	c := &Conn{log: o.Logger, lost: make(chan struct{})}
	opts := append([]nats.Option{
		nats.Name(o.Name), nats.Timeout(dialTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(retryWait), nats.CustomInboxPrefix(o.InboxPrefix),
		nats.ErrorHandler(c.asyncError), nats.ClosedHandler(func(*nats.Conn) { close(c.lost) }), nats.ReconnectHandler(func(*nats.Conn) { c.onReconnect() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("disconnected from the bus, reconnecting", "error", err)
			}
		}),
	}, extra...)
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfo(o.User, o.Password))
	}
	nc, err := nats.Connect(urls, opts...)
	if err != nil {
		return nil, err
	}
	c.nats = nc
	if c.js, err = jetstream.New(nc); err == nil {
		c.values.start(c, o.MaxValueBytes)
		err = c.inbox.start(c)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to the bus: %w", err)
	}
	return c, nil
}

// asyncError counts what a slow handler lost. It is called once when a subscription starts
// to drop, not for each message.
func (c *Conn) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrSlowConsumer) && sub != nil {
		c.log.Warn("a handler is too slow, messages are dropped", "subject", sub.Subject)
		return
	}
	if errors.Is(err, nats.ErrPermissionViolation) {
		c.log.Error("the bus refused a subject: check this client's permissions", "error", err)
		return
	}
	c.log.Warn("bus error", "error", err)
}

func (c *Conn) onReconnect() {
	c.log.Info("connected to the bus again")
	c.mu.Lock()
	calls := slices.Collect(maps.Values(c.reconnected))
	c.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// OnReconnect has f called after each reconnection until stop is called, on a goroutine of
// the connection: f must not block.
func (c *Conn) OnReconnect(f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reconnected == nil {
		c.reconnected = map[*func()]func(){}
	}
	key := &f
	c.reconnected[key] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.reconnected, key)
	}
}

// Lost is closed when the connection is closed for good: by [Conn.Close], or by a server that refused
// it, which is not tried again. A process that serves others must end then. [Conn.Err] tells why.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Err says why the connection is closed, or why it was broken last; nil if nothing was wrong.
func (c *Conn) Err() error {
	err := c.nats.LastError()
	if err == nil {
		return nil
	}
	return fmt.Errorf("the bus ended the connection: %w", err)
}

// NATS is the connection below, for what this package doesn't wrap.
func (c *Conn) NATS() *nats.Conn { return c.nats }

// JetStream is the connection's JetStream context.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Stats are the connection's counters.
func (c *Conn) Stats() Stats {
	return Stats{
		Malformed: c.stats.malformed.Load(), Dropped: c.subs.dropped(), Late: c.stats.late.Load(), Pending: c.inbox.size(),
	}
}

// Flush waits until the server has taken everything that was published and subscribed.
func (c *Conn) Flush(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, flushTimeout)
		defer cancel()
	}
	if err := c.nats.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush the bus connection: %w", err)
	}
	return nil
}

// Close sends what is still buffered and closes the connection. Requests that wait end with
// [ErrDisconnected]. To finish handlers first, drain their subscriptions.
func (c *Conn) Close() {
	c.close.Do(func() {
		grace := flushTimeout
		if !c.nats.IsConnected() {
			grace = 0
		}
		c.values.stop(grace)
		if c.nats.IsConnected() {
			_ = c.Flush(context.Background()) // what can't be sent now is lost anyway
		}
		c.nats.Close()
		c.inbox.close()
	})
}
