package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	toolsBucket  = "codecell_tools"
	valuesBucket = "codecell_values"
	// RegistrationTTL is how long a registration lives without a heartbeat; it is refreshed
	// three times within it.
	RegistrationTTL = 15 * time.Second
	// valueTTL is how long a large message waits for its receiver.
	valueTTL = 10 * time.Minute
	// valuesInMemory and valuesOnDisk bound the bucket of large messages, in bytes.
	valuesInMemory = 512 << 20
	valuesOnDisk   = 4 << 30
)

// makeBuckets makes what the bus keeps, so that later connections find it in the right kind
// of storage. What a client has made already stays.
func (c *Conn) makeBuckets(ctx context.Context, onDisk bool) error {
	storage, size := jetstream.MemoryStorage, int64(valuesInMemory)
	if onDisk {
		storage, size = jetstream.FileStorage, valuesOnDisk
	}
	approvals, grants := int64(approvalsInMemory), int64(grantsInMemory)
	if onDisk {
		approvals, grants = approvalsOnDisk, grantsOnDisk
	}
	for _, config := range []jetstream.KeyValueConfig{
		toolsConfig(storage), approvalsConfig(storage, approvals), grantsConfig(storage, grants),
		nodesConfig(storage, nodesSize), pairedConfig(storage, pairedSize),
	} {
		if _, err := c.js.CreateKeyValue(ctx, config); err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
			return fmt.Errorf("make bucket %s: %w", config.Bucket, err)
		}
	}
	if _, err := c.js.CreateObjectStore(ctx, valuesConfig(storage, size)); err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("make bucket %s: %w", valuesBucket, err)
	}
	if _, err := c.js.CreateStream(ctx, sessionsConfig(storage)); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("make stream %s: %w", sessionsStream, err)
	}
	return nil
}

func toolsConfig(storage jetstream.StorageType) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: toolsBucket, Description: "What executors offer, kept alive by heartbeats", Storage: storage,
		TTL: RegistrationTTL, LimitMarkerTTL: RegistrationTTL, History: 1,
	}
}

func valuesConfig(storage jetstream.StorageType, size int64) jetstream.ObjectStoreConfig {
	return jetstream.ObjectStoreConfig{
		Bucket: valuesBucket, Description: "Messages above the payload limit", Storage: storage, TTL: valueTTL, MaxBytes: size,
	}
}

// toolBucket finds the registry, or makes it on a bus that isn't ours.
func (c *Conn) toolBucket(ctx context.Context) (jetstream.KeyValue, error) {
	kv, err := c.js.KeyValue(ctx, toolsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = c.js.CreateKeyValue(ctx, toolsConfig(jetstream.FileStorage))
		if err != nil { // made by another at the same moment, or no files
			if kv, err = c.js.KeyValue(ctx, toolsBucket); err != nil {
				kv, err = c.js.CreateKeyValue(ctx, toolsConfig(jetstream.MemoryStorage))
			}
		}
	}
	return kv, bucketError(toolsBucket, err)
}

// valueBucket finds the store of large messages, or makes it.
func (c *Conn) valueBucket(ctx context.Context) (jetstream.ObjectStore, error) {
	s, err := c.js.ObjectStore(ctx, valuesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = c.js.CreateObjectStore(ctx, valuesConfig(jetstream.FileStorage, valuesOnDisk))
		if err != nil {
			if s, err = c.js.ObjectStore(ctx, valuesBucket); err != nil {
				s, err = c.js.CreateObjectStore(ctx, valuesConfig(jetstream.MemoryStorage, valuesInMemory))
			}
		}
	}
	return s, bucketError(valuesBucket, err)
}

func bucketError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bucket %s: %w: the NATS server must run JetStream and this client may use $JS.API.>", name, err)
}

// lost says whether an operation failed because the bucket isn't there (any more): a server
// that kept it in memory has started anew.
func lost(err error) bool {
	for _, e := range []error{jetstream.ErrNoStreamResponse, jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound, nats.ErrNoResponders} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
