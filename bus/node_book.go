package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	nodesBucket  = "codecell_nodes"
	pairedBucket = "codecell_paired"
	// NodeTTL is how long a node counts as connected without a heartbeat; it sends three within it.
	NodeTTL = 15 * time.Second
	// nodeSkew is how far the clocks of a node and of the bus may differ.
	nodeSkew = time.Minute
	// Bounds of both buckets in bytes.
	nodesSize, pairedSize = 64 << 20, 16 << 20
	// maxNodes is how many nodes are looked at.
	maxNodes = 1000
)

// NodeState is where a node stands.
type NodeState string

const (
	// NodePending: it asks to be paired.
	NodePending NodeState = "pending"
	NodePaired  NodeState = "paired"
	// NodeRevoked: it was paired, and isn't trusted any more.
	NodeRevoked NodeState = "revoked"
)

// NodeInfo is a node as operators see it.
type NodeInfo struct {
	// ID is the node's public key. Name is that under which it was approved, or what it says while it is pending.
	ID        string                `json:"id"`
	Name      string                `json:"name"`
	Platform  string                `json:"platform"`
	State     NodeState             `json:"state"`
	Connected bool                  `json:"connected"`
	Commands  []schemas.NodeCommand `json:"commands"`

	pairing *schemas.NodePairing
}

// NodeBook is what is known of nodes, two buckets that all of them share with the executors: what nodes say of
// themselves, and which of them are paired. What a node says counts only with the signature of its own key.
type NodeBook struct {
	c             *Conn
	nodes, paired shelf

	mu   sync.Mutex
	seen map[string]heard // by id
}

// heard is the latest word of a node that a book knows.
type heard struct {
	revision uint64
	at       int64
}

// NewNodeBook makes a book. The buckets are looked up when they are first needed.
func NewNodeBook(c *Conn) *NodeBook {
	return &NodeBook{
		c: c, seen: map[string]heard{},
		nodes:  shelf{c: c, config: nodesConfig, memory: nodesSize, disk: nodesSize},
		paired: shelf{c: c, config: pairedConfig, memory: pairedSize, disk: pairedSize},
	}
}

func nodesConfig(storage jetstream.StorageType, size int64) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: nodesBucket, Description: "What nodes say of themselves, kept alive by heartbeats", Storage: storage,
		TTL: NodeTTL, History: 1, MaxBytes: size, MaxValueSize: schemas.MaxNodeBytes,
	}
}

func pairedConfig(storage jetstream.StorageType, size int64) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: pairedBucket, Description: "Which nodes are paired", Storage: storage, History: 1, MaxBytes: size, MaxValueSize: 4 << 10,
	}
}

// List gives all nodes that are known, by name: pending, paired and revoked ones.
func (b *NodeBook) List(ctx context.Context) ([]NodeInfo, error) {
	return b.list(ctx, func(map[string]*NodeInfo) ([]jetstream.KeyValueEntry, error) { return b.nodes.all(ctx) })
}

// Paired gives the paired nodes by name, those that aren't connected included.
func (b *NodeBook) Paired(ctx context.Context) ([]NodeInfo, error) {
	// Only what they say is read: any number of others may ask to be paired.
	return b.list(ctx, func(known map[string]*NodeInfo) ([]jetstream.KeyValueEntry, error) {
		maps.DeleteFunc(known, func(_ string, n *NodeInfo) bool { return n.State != NodePaired })
		return b.nodes.some(ctx, slices.Collect(maps.Keys(known)))
	})
}

// list reads the records, and then what nodes say of themselves.
func (b *NodeBook) list(
	ctx context.Context, read func(known map[string]*NodeInfo) ([]jetstream.KeyValueEntry, error),
) ([]NodeInfo, error) {
	records, err := b.paired.all(ctx)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	known := map[string]*NodeInfo{}
	for _, e := range records {
		if info := b.record(e); info != nil {
			known[info.ID] = info
		}
	}
	said, err := read(known)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, e := range said {
		node := b.accept(e)
		if node == nil {
			continue
		}
		info := known[node.ID]
		if info == nil {
			info = &NodeInfo{ID: node.ID, Name: node.Name, State: NodePending}
			known[node.ID] = info
		}
		info.add(node)
	}
	list := make([]NodeInfo, 0, len(known))
	for _, info := range known {
		list = append(list, *info)
	}
	slices.SortFunc(list, func(x, y NodeInfo) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) })
	return list, nil
}

// record reads a pairing; nil if it is none.
func (b *NodeBook) record(e jetstream.KeyValueEntry) *NodeInfo {
	var r schemas.PairedNode
	if err := schemas.Decode(e.Value(), &r); err != nil || r.ID != e.Key() {
		b.c.stats.malformed.Add(1)
		return nil
	}
	info := &NodeInfo{ID: r.ID, Name: r.Name, Platform: r.Platform, State: NodePaired}
	if r.Revoked != 0 {
		info.State = NodeRevoked
	}
	return info
}

// accept reads what a node says of itself; nil if it isn't its own word, or not its latest. Somebody may have written
// it again later: then it is older than what was written before, or than the writing by more than clocks differ.
func (b *NodeBook) accept(e jetstream.KeyValueEntry) *schemas.Node {
	node := new(schemas.Node)
	var sealed schemas.Sealed
	err := schemas.Decode(e.Value(), &sealed)
	if err == nil {
		err = unseal(e.Key(), sealOfNode, &sealed, node)
	}
	if err == nil && (node.ID != e.Key() || e.Created().Sub(time.Unix(0, node.At)).Abs() > nodeSkew) {
		err = errForged
	}
	if err == nil && node.Check() != nil {
		err = ErrMalformed
	}
	if err != nil || !b.latest(e, node) {
		b.c.stats.malformed.Add(1)
		return nil
	}
	return node
}

func (b *NodeBook) latest(e jetstream.KeyValueEntry, node *schemas.Node) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, ok := b.seen[node.ID]
	switch {
	case ok && e.Revision() > last.revision && node.At < last.at:
		return false
	case !ok && len(b.seen) >= maxNodes:
		clear(b.seen)
	case e.Revision() < last.revision:
		return true
	}
	b.seen[node.ID] = heard{e.Revision(), node.At}
	return true
}

// add takes over what a node says.
func (n *NodeInfo) add(node *schemas.Node) {
	n.Connected, n.Platform, n.pairing = true, node.Platform, node.Pairing
	n.Commands = node.Commands
}

// PickNode finds a node by its exact id, or else by a name that only one has (N1).
func PickNode(list []NodeInfo, idOrName string) (*NodeInfo, error) {
	var found []*NodeInfo
	for i := range list {
		n := &list[i]
		if n.ID == idOrName {
			return n, nil
		}
		if n.Name == idOrName {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, schemas.Refuse("node", fmt.Sprintf("there is no node %.80q: list the nodes for their ids and names", idOrName))
	}
	return nil, schemas.Refuse("node", fmt.Sprintf("%d nodes are named %q: name one by its id, such as %s", len(found), idOrName, found[0].ID))
}

// all gives the entries of a bucket, up to a bound. A watch wouldn't do: what is written while one starts isn't in its
// first state.
func (s *shelf) all(ctx context.Context) ([]jetstream.KeyValueEntry, error) {
	var keys []string
	err := s.with(ctx, func(jetstream.KeyValue) error {
		bucket := s.config(jetstream.FileStorage, 0).Bucket
		stream, err := s.c.js.Stream(ctx, "KV_"+bucket)
		if err != nil {
			return err
		}
		prefix := "$KV." + bucket + "."
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
		if err != nil {
			return err
		}
		keys = keys[:0]
		for subject := range info.State.Subjects {
			keys = append(keys, strings.TrimPrefix(subject, prefix))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	return s.some(ctx, keys[:min(len(keys), maxNodes)])
}

// some gives those entries of a bucket that are there.
func (s *shelf) some(ctx context.Context, keys []string) (list []jetstream.KeyValueEntry, err error) {
	for _, key := range keys {
		err := s.with(ctx, func(kv jetstream.KeyValue) error {
			e, err := kv.Get(ctx, key)
			if err == nil {
				list = append(list, e)
			}
			return err
		})
		if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil, err
		}
	}
	return list, nil
}
