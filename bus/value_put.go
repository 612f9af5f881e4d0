package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// putObject writes an object as NATS stores them: its chunks, then a description. The
// client library's own Put starts a goroutine for each object that now and then never ends
// (nats.go 1.55: it may read the channel that it waits for after the clean-up has taken it
// away); here one publisher serves the whole connection.
func (v *values) putObject(ctx context.Context, name string, b []byte) error {
	id := randomID(26)
	info := jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name}, Bucket: valuesBucket, NUID: id, Size: uint64(len(b))}
	hash := sha256.New()
	hash.Write(b)
	info.Digest = jetstream.GetObjectDigestValue(hash)

	var sent []jetstream.PubAckFuture
	for size := v.chunk(); len(b) > 0; info.Chunks++ {
		part := b[:min(size, len(b))]
		b = b[len(part):]
		f, err := v.c.js.PublishMsgAsync(&nats.Msg{Subject: "$O." + valuesBucket + ".C." + id, Data: part})
		if err != nil {
			return fmt.Errorf("store a large message: %w", err)
		}
		sent = append(sent, f)
	}
	for _, f := range sent {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return fmt.Errorf("store a large message: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("store a large message: %w", ctx.Err())
		}
	}
	m := nats.NewMsg("$O." + valuesBucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name)))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	var err error
	if m.Data, err = json.Marshal(&info); err == nil {
		_, err = v.c.js.PublishMsg(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("store a large message: %w", err)
	}
	return nil
}

// chunk is the size of an object's parts in bytes: few large ones are faster.
func (v *values) chunk() int {
	return int(max(1024, min(largestChunk, v.c.nats.MaxPayload()/2)))
}
