package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	sessionsStream = "CODECELL_SESSIONS"
	// sessionsInMemory and sessionsOnDisk bound the stream, in bytes. A full one refuses what comes: it never forgets
	// what it has taken.
	sessionsInMemory = 256 << 20
	sessionsOnDisk   = 8 << 30
	// sessionTimeout bounds one request to the stream, unless the caller's context ends sooner.
	sessionTimeout = 10 * time.Second
	// batchRoom is what a message needs besides its body, in bytes.
	batchRoom = 4 << 10
)

var (
	// ErrConflict says that a session has grown since it was read. Nothing was appended.
	ErrConflict = errors.New("the session has other new entries: read them, then append again")
	// ErrRefused says that the bus took notice of a batch, and doesn't keep it, as when its store is full.
	ErrRefused = errors.New("the bus refused to keep it")
	// ErrSessionsLost says that the sessions stream, or what a session had in it, is not there any more. That is trouble,
	// and never to be taken for a session without entries.
	ErrSessionsLost = errors.New("transcripts that were there are gone from the bus: restore its stream " + sessionsStream + ", or start the host again to begin anew")
)

// Sessions keeps the transcripts of sessions in a JetStream stream, one subject a session (T3). All methods are safe
// for concurrent use, and take at most ten seconds.
type Sessions struct {
	c      *Conn
	stream jetstream.Stream
}

// SessionRecord is one message of a session's subject.
type SessionRecord struct {
	// Seq is its sequence in the stream, At when it was stored, in Unix nanoseconds.
	Seq uint64
	At  int64
	// Batch is what was appended. If Err is set, the message is malformed, and has none.
	Batch *schemas.SessionBatch
	Err   error
}

// SessionInfo is one session of the stream.
type SessionInfo struct {
	Key string
	// Batches is how many messages it has, Updated when the last one was stored, in Unix nanoseconds.
	Batches uint64
	Updated int64
	// Err says that no message of the subject can be read; Key is then the subject's token.
	Err error
}

// OpenSessions finds the stream, or makes it on a bus that isn't ours. A stream that disappears later is not made
// again.
func OpenSessions(ctx context.Context, c *Conn) (*Sessions, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	stream, err := c.js.Stream(ctx, sessionsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = c.js.CreateStream(ctx, sessionsConfig(jetstream.FileStorage))
		if err != nil { // made by another at the same moment, or no files
			if stream, err = c.js.Stream(ctx, sessionsStream); err != nil {
				stream, err = c.js.CreateStream(ctx, sessionsConfig(jetstream.MemoryStorage))
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w: the NATS server must run JetStream and this client may use $JS.API.>", sessionsStream, err)
	}
	return &Sessions{c: c, stream: stream}, nil
}

func sessionsConfig(storage jetstream.StorageType) jetstream.StreamConfig {
	size := int64(sessionsOnDisk)
	if storage == jetstream.MemoryStorage {
		size = sessionsInMemory
	}
	return jetstream.StreamConfig{
		Name: sessionsStream, Description: "Transcripts of sessions", Subjects: []string{AllSessions()},
		Storage: storage, MaxBytes: size, Discard: jetstream.DiscardNew, AllowDirect: true,
	}
}

// MaxBatch is how large an encoded batch may be, in bytes.
func (s *Sessions) MaxBatch() int { return int(s.c.nats.MaxPayload()) - batchRoom }

// Append adds a batch behind the message with sequence last, 0 for a new session, and gives the batch's own. Errors:
// [ErrConflict]; [ErrTooLarge] and [ErrDisconnected], with which nothing was sent; [ErrRefused]; [ErrSessionsLost]. After any
// other, and after a time-out, only reading tells whether the batch is there.
func (s *Sessions) Append(ctx context.Context, batch *schemas.SessionBatch, last uint64) (uint64, error) {
	m := nats.NewMsg(SessionSubject(batch.Key))
	var err error
	if m.Data, err = schemas.Encode(batch); err != nil {
		return 0, err
	}
	switch {
	case len(m.Data) > s.MaxBatch():
		return 0, fmt.Errorf("append to session %s: %w: %d bytes, at most %d", batch.Key, ErrTooLarge, len(m.Data), s.MaxBatch())
	case !s.c.nats.IsConnected():
		// The client would keep it, and send it when nobody expects it any more.
		return 0, fmt.Errorf("append to session %s: %w", batch.Key, ErrDisconnected)
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	ack, err := s.c.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithExpectStream(sessionsStream),
		jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, fmt.Errorf("append to session %s: %w", batch.Key, sessionError(err))
	}
	return ack.Sequence, nil
}

// sessionError names what is known about an error of the stream.
func sessionError(err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return ErrConflict
	case errors.As(err, &refused) && !lost(err):
		return fmt.Errorf("%w: %s", ErrRefused, refused.Description)
	case lost(err):
		return fmt.Errorf("%w (%w)", ErrSessionsLost, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the bus didn't answer (%w): its disk may be full or not writable, see its log", err)
	}
	return err
}

// Read gives each message of a session's subject after the one with sequence after, which a reader has seen before: if it
// isn't there any more, that is [ErrSessionsLost]. With 0 it gives all of them. An error of each ends the reading.
func (s *Sessions) Read(ctx context.Context, key string, after uint64, each func(SessionRecord) error) error {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	subject, known := SessionSubject(key), after
	err := s.scan(ctx, subject, max(after, 1), func(m *nats.Msg, seq uint64) error {
		if seq <= known {
			after = 0 // it is there
			return nil
		}
		if after != 0 {
			return ErrSessionsLost
		}
		return each(recordOf(m, seq, subject))
	})
	if err == nil && after != 0 {
		err = ErrSessionsLost
	}
	if err != nil {
		return fmt.Errorf("read session %s: %w", key, sessionError(err))
	}
	return nil
}

// recordOf decodes what anybody with the permission may have published.
func recordOf(m *nats.Msg, seq uint64, subject string) SessionRecord {
	r := SessionRecord{Seq: seq}
	if at, err := time.Parse(time.RFC3339Nano, lastHeader(m, jetstream.TimeStampHeaer)); err == nil {
		r.At = at.UnixNano()
	}
	var batch schemas.SessionBatch
	if err := schemas.Decode(m.Data, &batch); err != nil {
		r.Err = errors.Join(ErrMalformed, err)
	} else if SessionSubject(batch.Key) != subject {
		r.Err = fmt.Errorf("%w: it says that it is of another session", ErrMalformed)
	} else {
		r.Batch = &batch
	}
	return r
}

// List gives all sessions in the order of their keys.
func (s *Sessions) List(ctx context.Context) ([]SessionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(AllSessions()))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", sessionError(err))
	}
	out := make([]SessionInfo, 0, len(info.State.Subjects))
	for subject, n := range info.State.Subjects {
		one := SessionInfo{Batches: n}
		if err := s.describe(ctx, subject, &one); err != nil {
			return nil, fmt.Errorf("list sessions: %w", sessionError(err))
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// describe finds a session's key in the last of its messages, or else in any.
func (s *Sessions) describe(ctx context.Context, subject string, one *SessionInfo) error {
	var r SessionRecord
	if err := s.last(ctx, subject, func(m *nats.Msg, seq uint64) error {
		r = recordOf(m, seq, subject)
		return nil
	}); err != nil {
		return err
	}
	if r.Seq == 0 {
		return ErrSessionsLost
	}
	one.Updated = r.At
	if r.Err != nil {
		if err := s.scan(ctx, subject, 1, func(m *nats.Msg, seq uint64) error {
			if r.Err != nil {
				r = recordOf(m, seq, subject)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if one.Err = r.Err; r.Batch == nil {
		one.Key = strings.TrimPrefix(subject, Prefix+verbSession+".")
		return nil
	}
	one.Key = r.Batch.Key
	return nil
}
