package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

// NodeStanding is where a node stands, as the node itself sees it.
type NodeStanding struct {
	State NodeState
	// Code is the pairing code to show while it is pending, and Expires when another one replaces it.
	Code    string
	Expires time.Time
}

// NodePresence is a node on the bus: it says what the node offers, again and again, and follows whether it is paired.
type NodePresence struct {
	book    *NodeBook
	key     *NodeKey
	node    schemas.Node
	changed func(NodeStanding)
	probe   *Subscription
	cancel  context.CancelFunc
	done    sync.WaitGroup

	// Of the goroutine that beats.
	standing NodeStanding
	code     string
	pairing  *schemas.NodePairing // what is published of the code; nil: there is none
	watcher  jetstream.KeyWatcher
}

// AnnounceNode begins to say what a node offers. changed is told where it stands, before AnnounceNode returns and after
// each change, one call after the other; it must not block. A node that was revoked, or that is there already, is an
// error. The presence must be closed.
func AnnounceNode(ctx context.Context, c *Conn, key *NodeKey, node schemas.Node, changed func(NodeStanding)) (_ *NodePresence, err error) {
	p := &NodePresence{book: NewNodeBook(c), key: key, node: node, changed: changed}
	p.node.ID = key.ID()
	if err := p.node.Check(); err != nil {
		return nil, err
	}
	if err := p.alone(ctx); err != nil {
		return nil, err
	}
	if p.probe, err = Serve(c, ProbeSubject(key.ID()), "", func(r *Request[schemas.Ping, schemas.Pong]) {
		_ = r.Respond(&schemas.Pong{Executor: key.ID()})
	}); err != nil {
		return nil, err
	}
	beating, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	if err = p.beat(ctx, beating); err == nil {
		err = p.clock(ctx)
	}
	if err == nil && p.standing.State == NodeRevoked {
		err = schemas.Refuse("node", fmt.Sprintf("this node (%s) was revoked: `codecell nodes rm %s` forgets that; or take another key", key.ID(), key.ID()))
	}
	if err != nil {
		p.end()
		return nil, fmt.Errorf("announce the node: %w", err)
	}
	p.done.Go(func() { p.run(beating) })
	return p, nil
}

// alone makes sure that no other process is this node: both would answer.
func (p *NodePresence) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := Ask[schemas.Pong](ctx, p.book.c, ProbeSubject(p.key.ID()), &schemas.Ping{})
	if errors.Is(err, ErrNoResponders) {
		return nil
	}
	if err == nil {
		err = schemas.Refuse("node", "a process with this key is connected already: end it, or take another key")
	}
	return fmt.Errorf("announce the node: %w", err)
}

// clock compares this machine's clock with the bus's: what seems to be said long before it was written isn't believed.
func (p *NodePresence) clock(ctx context.Context) error {
	return p.book.nodes.with(ctx, func(kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, p.key.ID())
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil // revoked
		}
		if err == nil && p.book.accept(e) == nil {
			err = fmt.Errorf("the clock of this machine (%s) and that of the bus (%s) differ by more than %v: set them right",
				time.Now().UTC().Format(time.DateTime), e.Created().UTC().Format(time.DateTime), nodeSkew)
		}
		return err
	})
}

// Close withdraws what the node said.
func (p *NodePresence) Close(ctx context.Context) error {
	p.end()
	err := ErrDisconnected // then waiting for an answer is in vain
	if p.book.c.nats.IsConnected() {
		err = p.withdraw(ctx)
	}
	if err != nil {
		return fmt.Errorf("withdraw the node: %w: it counts as connected for up to %v more", err, NodeTTL)
	}
	return nil
}

func (p *NodePresence) end() {
	p.cancel()
	p.done.Wait()
	p.unwatch()
	p.probe.Close()
}

func (p *NodePresence) run(ctx context.Context) {
	ticker := time.NewTicker(NodeTTL / 3)
	defer ticker.Stop()
	again := make(chan struct{}, 1)
	stop := p.book.c.OnReconnect(func() {
		select {
		case again <- struct{}{}:
		default:
		}
	})
	defer stop()
	var retry <-chan time.Time
	for {
		var updates <-chan jetstream.KeyValueEntry
		if p.watcher != nil {
			updates = p.watcher.Updates()
		}
		var expired <-chan time.Time
		if p.standing.State == NodePending {
			expired = time.After(time.Until(p.standing.Expires))
		}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-updates:
			if !ok {
				p.unwatch()
			}
		case <-ticker.C:
		case <-again:
		case <-retry:
		case <-expired:
		}
		beat, cancel := context.WithTimeout(ctx, beatTimeout)
		err := p.beat(beat, ctx)
		cancel()
		retry = nil
		if err != nil && ctx.Err() == nil {
			p.book.c.log.Warn("the node can't be announced, trying again", "error", err)
			retry = time.After(beatRetry)
		}
	}
}

// beat looks where the node stands, and says what it offers.
func (p *NodePresence) beat(ctx, watching context.Context) error {
	if p.watcher == nil { // from now on no change goes unnoticed
		if err := p.book.paired.with(ctx, func(kv jetstream.KeyValue) (err error) {
			p.watcher, err = kv.Watch(watching, p.key.ID(), jetstream.UpdatesOnly())
			return err
		}); err != nil {
			return err
		}
	}
	var record schemas.PairedNode
	_, err := p.book.paired.read(ctx, p.key.ID(), &record)
	standing := NodeStanding{State: NodePaired}
	switch {
	case errors.Is(err, ErrNoRecord):
		if standing, err = p.pending(); err != nil {
			return err
		}
	case err != nil:
		return err
	case record.Revoked != 0:
		p.stand(NodeStanding{State: NodeRevoked})
		return p.withdraw(ctx)
	}
	if standing.State == NodePaired {
		p.pairing = nil
	}
	if err := p.say(ctx); err != nil {
		return err
	}
	p.stand(standing) // a code can be used as soon as it is shown
	return nil
}

// say writes what the node offers.
func (p *NodePresence) say(ctx context.Context) error {
	node := p.node
	node.At, node.Pairing = time.Now().UnixNano(), p.pairing
	sealed, err := p.key.seal(sealOfNode, &node)
	if err != nil {
		return err
	}
	b, err := schemas.Encode(sealed)
	if err != nil {
		return err
	}
	if len(b) > schemas.MaxNodeBytes {
		return schemas.Refuse("node.commands", fmt.Sprintf("node.commands: what they are takes %d bytes, expected at most %d: shorten their descriptions and schemas", len(b), schemas.MaxNodeBytes))
	}
	return p.book.nodes.with(ctx, func(kv jetstream.KeyValue) error {
		_, err := kv.Put(ctx, p.key.ID(), b)
		return err
	})
}

// pending is how a node stands that isn't paired: with a new pairing code, unless there is one that can be used.
func (p *NodePresence) pending() (NodeStanding, error) {
	now := time.Now()
	if p.pairing == nil || !now.Before(time.Unix(0, p.pairing.Expires)) {
		code, pairing, err := newPairing(p.key.ID(), now)
		if err != nil {
			return NodeStanding{}, err
		}
		p.code, p.pairing = code, pairing
	}
	return NodeStanding{State: NodePending, Code: p.code, Expires: time.Unix(0, p.pairing.Expires)}, nil
}

func (p *NodePresence) stand(s NodeStanding) {
	if s != p.standing {
		p.standing = s
		p.changed(s)
	}
}

func (p *NodePresence) withdraw(ctx context.Context) error {
	return p.book.nodes.with(ctx, func(kv jetstream.KeyValue) error { return kv.Delete(ctx, p.key.ID()) })
}

func (p *NodePresence) unwatch() {
	if p.watcher != nil {
		_ = p.watcher.Stop() // fails only if stopped already
		p.watcher = nil
	}
}
