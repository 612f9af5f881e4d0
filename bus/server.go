package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// DefaultMaxPayload is the largest message of an embedded server, in bytes.
	DefaultMaxPayload = 1 << 20
	// startTimeout bounds the start of an embedded server.
	startTimeout = 10 * time.Second
	// readyPoll is how long the start waits before it looks again whether the server has given up.
	readyPoll = 50 * time.Millisecond
	// memoryStore and fileStore bound what an embedded server's JetStream keeps, in bytes. A start counts the largest store
	// twice: it asks for the stores that are there already.
	memoryStore = 1 << 30
	fileStore   = 32 << 30
	// syncEvery is how often what was written is forced to the disk: what a power cut can take. A killed process loses
	// nothing.
	syncEvery = 10 * time.Second
)

// ServerOptions say how an embedded server runs. The zero value is a private server in
// memory without a port.
type ServerOptions struct {
	// Listen is the host:port to listen on; port 0 takes a free one. Empty: no port at all.
	Listen string
	// StoreDir keeps JetStream's files. Empty: JetStream lives in memory and ends with the server.
	StoreDir string
	// Name of the server, for logs and monitoring.
	Name string
	// MaxPayload is the largest message in bytes, [DefaultMaxPayload] if 0.
	MaxPayload int
	// Token must be shown by clients that come through the port, if set.
	Token string
	// Logger gets the server's log, slog.Default() if nil.
	Logger *slog.Logger
}

// Server is a NATS server inside this process, with JetStream (U1).
type Server struct {
	nats    *server.Server
	options ServerOptions
	tempDir string
	fatal   chan string // why the server can't run, if it can't
	close   sync.Once

	// Of a server that keeps files; see mend.
	folder  *folder
	stores  server.JetStreamConfig
	broken  chan string // what is said of stores that aren't written any more
	mending sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	problem string
}

// Start starts a server and waits until it takes connections.
func Start(ctx context.Context, o ServerOptions) (_ *Server, err error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{options: o, fatal: make(chan string, 1), broken: make(chan string, 1)}
	opts := &server.Options{
		ServerName: o.Name, DontListen: o.Listen == "", NoSigs: true, MaxPayload: int32(o.MaxPayload),
		Authorization: o.Token,
		JetStream:     true, StoreDir: o.StoreDir, JetStreamMaxMemory: memoryStore, JetStreamMaxStore: fileStore,
		SyncInterval: syncEvery,
	}
	if o.MaxPayload <= 0 {
		opts.MaxPayload = DefaultMaxPayload
	}
	if o.Listen != "" {
		if opts.Host, opts.Port, err = splitListen(o.Listen); err != nil {
			return nil, err
		}
	}
	if o.StoreDir == "" {
		if s.tempDir, err = os.MkdirTemp("", "codecell-bus-"); err != nil {
			return nil, fmt.Errorf("start the bus: %w", err)
		}
		opts.StoreDir = s.tempDir
	} else if s.folder, err = claimFolder(o.StoreDir); err != nil {
		return nil, fmt.Errorf("start the bus: %w", err)
	}
	if s.nats, err = server.NewServer(opts); err != nil {
		s.tidy()
		return nil, fmt.Errorf("start the bus: %w", err)
	}
	s.nats.SetLoggerV2(&serverLog{log: o.Logger.With("part", "nats-server"), fatal: s.fatal, broken: s.broken}, false, false, false)
	s.nats.Start()
	if err = s.ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ready waits for connections and makes the buckets.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !s.nats.ReadyForConnections(readyPoll) {
		select {
		case why := <-s.fatal:
			return s.cantRun(why)
		case <-ctx.Done():
			return fmt.Errorf("start the bus: the server took no connections within %v%s: see its log, or choose another listen address", startTimeout, s.where())
		default:
		}
	}
	if !s.nats.JetStreamEnabled() {
		select {
		case why := <-s.fatal:
			return s.cantRun(why)
		default:
		}
		return fmt.Errorf("start the bus: JetStream can't use %s: see the log", s.options.StoreDir)
	}
	if err := s.makeStores(ctx); err != nil {
		return fmt.Errorf("start the bus: %w", err)
	}
	if s.folder != nil {
		s.stores = *s.nats.JetStreamConfig()
		var mending context.Context
		mending, s.stop = context.WithCancel(context.Background())
		s.mending.Go(func() { s.mend(mending) })
	}
	return nil
}

// makeStores makes what the bus keeps. Where transcripts were kept before and aren't now, something is wrong with
// the folder: what would be made there in their place would look as if there had never been any.
func (s *Server) makeStores(ctx context.Context) error {
	c, err := s.Connect("bus")
	if err != nil {
		return err
	}
	defer c.Close()
	if s.folder == nil {
		return c.makeBuckets(ctx, false)
	}
	marked, err := s.folder.marked()
	if err != nil {
		return err
	}
	if marked {
		if _, err := c.js.Stream(ctx, sessionsStream); err != nil {
			return fmt.Errorf("the transcripts in bus.storeDir %s can't be read (stream %s: %w): restore the folder from a backup, or remove its file %s to begin anew without them",
				s.options.StoreDir, sessionsStream, err, sessionsMark)
		}
	}
	if err := c.makeBuckets(ctx, true); err != nil {
		return err
	}
	if !marked {
		return s.folder.mark()
	}
	return nil
}

// cantRun names the folder, where that is what's wrong.
func (s *Server) cantRun(why string) error {
	if s.folder != nil && strings.Contains(why, "JetStream") {
		why = "bus.storeDir " + s.options.StoreDir + ": " + why
	}
	return fmt.Errorf("start the bus: %s", why)
}

func (s *Server) where() string {
	if s.options.Listen == "" {
		return ""
	}
	return " on " + s.options.Listen
}

// Connect gives a connection that doesn't leave the process.
func (s *Server) Connect(name string) (*Conn, error) {
	return connect("", Options{Name: name, Token: s.options.Token, Logger: s.options.Logger}, nats.InProcessServer(s.nats))
}

// URL is where clients of other processes connect; empty if the server has no port.
func (s *Server) URL() string {
	if s.options.Listen == "" {
		return ""
	}
	return s.nats.ClientURL()
}

// Interest counts the subscriptions that a message on subject would reach.
func (s *Server) Interest(subject string) int { return s.nats.GlobalAccount().Interest(subject) }

// Close stops the server, cuts its clients off, and removes what it kept in memory.
func (s *Server) Close() {
	s.close.Do(func() {
		if s.stop != nil {
			s.stop()
			s.mending.Wait()
		}
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
		s.tidy()
	})
}

// tidy gives up what the server has of the machine.
func (s *Server) tidy() {
	if s.tempDir != "" {
		os.RemoveAll(s.tempDir)
	}
	if s.folder != nil {
		s.folder.release()
	}
}

// splitListen reads host:port; the server's own word for "a free port" is -1.
func splitListen(listen string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err == nil && (port < 0 || port > 65535) {
		err = errors.New("no such port")
	}
	if err != nil {
		return "", 0, fmt.Errorf("listen address %q: %w: write host:port, such as 127.0.0.1:4222", listen, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// serverLog passes the server's log on. Its notices are of no interest to people who don't
// run a NATS cluster.
type serverLog struct {
	log           *slog.Logger
	fatal, broken chan string // take the first reason
}

func (l *serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.trouble(slog.LevelWarn, format, v) }
func (l *serverLog) Errorf(format string, v ...any)  { l.trouble(slog.LevelError, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }

// Fatalf is what a server says before it gives up. It doesn't end the process.
func (l *serverLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
	l.say(slog.LevelError, format, v)
}

// trouble is said also to whom it may concern.
func (l *serverLog) trouble(level slog.Level, format string, v []any) {
	l.heard(fmt.Sprintf(format, v...))
	l.say(level, format, v)
}

func (l *serverLog) say(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "the bus reports", "text", fmt.Sprintf(format, v...))
	}
}
