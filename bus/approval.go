package bus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	approvalsBucket = "codecell_approvals"
	grantsBucket    = "codecell_grants"
	// approvalTTL is how long an approval and the grants of a scope are remembered after their last change: longer than
	// the day that both may last.
	approvalTTL = 25 * time.Hour
	// Bounds of both buckets in bytes. A bucket that is full takes nothing more, so that calls which need it are refused.
	approvalsInMemory, approvalsOnDisk = 128 << 20, 1 << 30
	grantsInMemory, grantsOnDisk       = 16 << 20, 128 << 20
)

var (
	// ErrChanged says that a record isn't as it was read any more; nothing was written.
	ErrChanged = errors.New("another has changed the record meanwhile")
	// ErrNoRecord says that there is no such record, or no longer.
	ErrNoRecord = errors.New("there is no such record")
)

// ApprovalBook is the record of approvals and grants, two buckets that all executors share. Every write says which
// revision it replaces, so that of two writers one fails with [ErrChanged].
type ApprovalBook struct{ approvals, grants shelf }

// NewApprovalBook makes a book. The buckets are looked up when they are first needed.
func NewApprovalBook(c *Conn) *ApprovalBook {
	return &ApprovalBook{
		approvals: shelf{c: c, config: approvalsConfig, memory: approvalsInMemory, disk: approvalsOnDisk},
		grants:    shelf{c: c, config: grantsConfig, memory: grantsInMemory, disk: grantsOnDisk},
	}
}

// Open writes a new approval, and gives its revision.
func (b *ApprovalBook) Open(ctx context.Context, a *schemas.Approval) (uint64, error) {
	return b.approvals.write(ctx, clean(a.ID), a, 0)
}

// Replace writes an approval in the place of a revision, and gives the new one.
func (b *ApprovalBook) Replace(ctx context.Context, a *schemas.Approval, revision uint64) (uint64, error) {
	return b.approvals.write(ctx, clean(a.ID), a, revision)
}

// Find gives an approval and its revision.
func (b *ApprovalBook) Find(ctx context.Context, id string) (*schemas.Approval, uint64, error) {
	a := new(schemas.Approval)
	revision, err := b.approvals.read(ctx, clean(id), a)
	return a, revision, err
}

// Grants gives the grants of a scope, a [GrantKey], and their revision: none and 0 if there are none. A record that can't
// be read grants nothing, and gives way to the next one.
func (b *ApprovalBook) Grants(ctx context.Context, scope string) (*schemas.Grants, uint64, error) {
	g := new(schemas.Grants)
	revision, err := b.grants.read(ctx, scope, g)
	switch {
	case errors.Is(err, ErrNoRecord):
		return g, 0, nil
	case errors.Is(err, ErrMalformed):
		return new(schemas.Grants), revision, nil
	}
	return g, revision, err
}

// SetGrants writes the grants of a scope in the place of a revision; 0 is for the first ones.
func (b *ApprovalBook) SetGrants(ctx context.Context, scope string, g *schemas.Grants, revision uint64) error {
	_, err := b.grants.write(ctx, scope, g, revision)
	return err
}

// GrantKey names the scope of a grant for a call: its cell, its run, or its session, which is what has the same agent,
// session key, sender and sandbox. Not ok: the call belongs to no such scope.
func GrantKey(scope schemas.GrantScope, at schemas.Address, who schemas.Identity) (key string, ok bool) {
	switch scope {
	case schemas.GrantCell:
		return "cell." + clean(at.Cell), at.Cell != ""
	case schemas.GrantRun:
		return "run." + clean(at.Host) + "." + clean(at.Run), at.Host != "" && at.Run != ""
	case schemas.GrantSession:
		if who.Agent == "" {
			who.Agent = schemas.DefaultAgent
		}
		hash := sha256.New()
		for _, part := range []string{who.Agent, who.SessionKey, who.Sender, who.Sandbox} {
			hash.Write(binary.AppendUvarint(nil, uint64(len(part))))
			hash.Write([]byte(part))
		}
		return "session." + lowerBase32.EncodeToString(hash.Sum(nil)), who.SessionKey != ""
	}
	return "", false
}

func approvalsConfig(storage jetstream.StorageType, size int64) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: approvalsBucket, Description: "Calls that wait for a decision, and how it went", Storage: storage,
		TTL: approvalTTL, History: 1, MaxBytes: size,
	}
}

func grantsConfig(storage jetstream.StorageType, size int64) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: grantsBucket, Description: "What was allowed beyond one call", Storage: storage,
		TTL: approvalTTL, History: 1, MaxBytes: size,
	}
}

// shelf is a bucket of records that are written by their revision.
type shelf struct {
	c            *Conn
	config       func(jetstream.StorageType, int64) jetstream.KeyValueConfig
	memory, disk int64

	mu sync.Mutex
	kv jetstream.KeyValue
}

// bucket finds the bucket, or makes it on a bus that isn't ours. A bucket that was known is looked up anew if a server
// lost it.
func (s *shelf) bucket(ctx context.Context, anew bool) (jetstream.KeyValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kv != nil && !anew {
		return s.kv, nil
	}
	name := s.config(jetstream.FileStorage, 0).Bucket
	kv, err := s.c.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = s.c.js.CreateKeyValue(ctx, s.config(jetstream.FileStorage, s.disk))
		if err != nil { // made by another at the same moment, or no files
			if kv, err = s.c.js.KeyValue(ctx, name); err != nil {
				kv, err = s.c.js.CreateKeyValue(ctx, s.config(jetstream.MemoryStorage, s.memory))
			}
		}
	}
	if err != nil {
		return nil, bucketError(name, err)
	}
	s.kv = kv
	return kv, nil
}

func (s *shelf) with(ctx context.Context, f func(jetstream.KeyValue) error) error {
	kv, err := s.bucket(ctx, false)
	if err != nil {
		return err
	}
	if err = f(kv); !lost(err) {
		return err
	}
	if kv, err = s.bucket(ctx, true); err != nil {
		return err
	}
	return f(kv)
}

func (s *shelf) read(ctx context.Context, key string, into any) (revision uint64, err error) {
	err = s.with(ctx, func(kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, key)
		if err != nil {
			return err
		}
		revision = e.Revision()
		if err := schemas.Decode(e.Value(), into); err != nil {
			s.c.stats.malformed.Add(1)
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return nil
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = ErrNoRecord
	}
	return revision, err
}

func (s *shelf) write(ctx context.Context, key string, value any, revision uint64) (next uint64, err error) {
	b, err := schemas.Encode(value)
	if err != nil {
		return 0, err
	}
	err = s.with(ctx, func(kv jetstream.KeyValue) (err error) {
		if revision == 0 {
			next, err = kv.Create(ctx, key, b)
		} else {
			next, err = kv.Update(ctx, key, b, revision)
		}
		return err
	})
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		err = ErrChanged
	}
	if err != nil {
		return 0, fmt.Errorf("write to bucket %s: %w", s.config(jetstream.FileStorage, 0).Bucket, err)
	}
	return next, nil
}
