package bus

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	// PairingTime is how long a pairing code can be used.
	PairingTime = 10 * time.Minute
	// pairingLen characters of a code are random, 40 bits; pairingRounds makes guessing what a node has published
	// take longer than the code lasts.
	pairingLen    = 8
	pairingRounds = 100_000
	pairingSalt   = 16
)

// newPairing makes a code, and what a node publishes of it.
func newPairing(id string, now time.Time) (code string, p *schemas.NodePairing, err error) {
	code = randomID(pairingLen)
	p = &schemas.NodePairing{Salt: make([]byte, pairingSalt), Expires: now.Add(PairingTime).UnixNano()}
	rand.Read(p.Salt) // never fails
	p.Hash, err = pairingHash(code, id, p.Salt)
	return code[:pairingLen/2] + "-" + code[pairingLen/2:], p, err
}

func pairingHash(code, id string, salt []byte) ([]byte, error) {
	hash, err := pbkdf2.Key(sha256.New, code+"\n"+id, salt, pairingRounds, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive from a pairing code: %w", err)
	}
	return hash, nil
}

// Approve pairs the node that shows this code. Its key is trusted from then on, under the name that it has now. A code
// that no pending node shows, because it was used, has expired, or is mistyped, is invalid_input.
func (b *NodeBook) Approve(ctx context.Context, code, by string) (*schemas.PairedNode, error) {
	typed := strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(code))
	if len(typed) != pairingLen || !isBase32(typed) {
		return nil, schemas.Refuse("code", "code: expected the pairing code that the node shows, such as abcd-efgh")
	}
	list, err := b.List(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for i := range list {
		n := &list[i]
		if n.pairing == nil || len(n.pairing.Salt) != pairingSalt {
			continue
		}
		if left := time.Unix(0, n.pairing.Expires).Sub(now); left <= 0 || left > PairingTime+nodeSkew {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("approve a node: %w", err)
		}
		hash, err := pairingHash(typed, n.ID, n.pairing.Salt)
		if err != nil {
			return nil, err
		}
		if subtle.ConstantTimeCompare(hash, n.pairing.Hash) == 1 {
			return b.pair(ctx, n, by, now)
		}
	}
	return nil, schemas.Refuse("code", "no node shows this pairing code now: it may be mistyped, used, or older than 10 minutes; take the one that the node shows")
}

func (b *NodeBook) pair(ctx context.Context, n *NodeInfo, by string, now time.Time) (*schemas.PairedNode, error) {
	if n.State != NodePending {
		return nil, schemas.Refuse("code", fmt.Sprintf("node %s is %s already: `codecell nodes rm %s` forgets it", n.Name, n.State, n.ID))
	}
	record := &schemas.PairedNode{ID: n.ID, Name: n.Name, Platform: n.Platform, At: now.UnixNano(), By: by}
	_, err := b.paired.write(ctx, n.ID, record, 0)
	if errors.Is(err, ErrChanged) {
		return nil, schemas.Refuse("code", "another has just used this pairing code")
	}
	return record, err
}

// Revoke ends a pairing: nobody calls the node any more, and calls that are under way reject. An unknown id is
// invalid_input.
func (b *NodeBook) Revoke(ctx context.Context, id, by string) error {
	record, revision, err := b.find(ctx, id)
	if err != nil {
		return err
	}
	if record.Revoked != 0 {
		return nil
	}
	record.Revoked, record.RevokedBy = time.Now().UnixNano(), by
	_, err = b.paired.write(ctx, id, record, revision)
	return err
}

// Remove forgets a node: it is neither paired nor revoked, and may ask to be paired anew. An unknown id is
// invalid_input.
func (b *NodeBook) Remove(ctx context.Context, id string) error {
	if _, _, err := b.find(ctx, id); err != nil {
		return err
	}
	return b.paired.with(ctx, func(kv jetstream.KeyValue) error { return kv.Delete(ctx, id) })
}

func (b *NodeBook) find(ctx context.Context, id string) (*schemas.PairedNode, uint64, error) {
	record := new(schemas.PairedNode)
	revision, err := b.paired.read(ctx, clean(id), record)
	if errors.Is(err, ErrNoRecord) {
		return nil, 0, schemas.Refuse("node", fmt.Sprintf("no node with the id %.80q was ever paired: `codecell nodes ls` shows the ids", id))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look node %.80s up: %w", id, err)
	}
	return record, revision, nil
}
