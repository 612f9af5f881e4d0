package bus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nats-io/nkeys"

	"github.com/codecell/codecell/schemas"
)

// What a signature is for, so that none is taken for another's.
const (
	sealOfNode    = "codecell node 1\n"
	sealOfOutcome = "codecell outcome 1\n"
)

// NodeKey is the key pair of a node, an nkey of a user. Its public half is the node's id.
type NodeKey struct {
	pair nkeys.KeyPair
	id   string
}

// LoadNodeKey reads a key from a file, or makes the file with a new key if there is none. A file that others may read
// is refused.
func LoadNodeKey(path string) (*NodeKey, error) {
	seed, err := readSeed(path)
	if errors.Is(err, fs.ErrNotExist) {
		seed, err = makeSeed(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the node's key: %w", err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return nil, fmt.Errorf("the node's key: %s holds no nkey seed (%w): name another file, or remove it to make a new key", path, err)
	}
	id, err := pair.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(id) {
		return nil, fmt.Errorf("the node's key: %s holds no key of a user, whose seed begins with SU: name another file", path)
	}
	return &NodeKey{pair: pair, id: id}, nil
}

func readSeed(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > 1<<10:
		return nil, fmt.Errorf("%s is no file with a key", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others: chmod 600 it, or make a new key if somebody may have read it", path)
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}

// makeSeed writes a new key. Of two processes that do so at once, one fails.
func makeSeed(path string) ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(bytes.Clone(seed), '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return seed, nil
}

// ID is the node's public key: 56 characters that begin with U.
func (k *NodeKey) ID() string { return k.id }

// Answer seals the outcome of a call.
func (k *NodeKey) Answer(o *schemas.NodeOutcome) (*schemas.Sealed, error) {
	o.Node = k.id
	return k.seal(sealOfOutcome, o)
}

func (k *NodeKey) seal(purpose string, v any) (*schemas.Sealed, error) {
	body, err := schemas.Encode(v)
	if err != nil {
		return nil, err
	}
	signature, err := k.pair.Sign(append([]byte(purpose), body...))
	if err != nil {
		return nil, fmt.Errorf("sign with the node's key: %w", err)
	}
	return &schemas.Sealed{Body: body, Signature: signature}, nil
}

// errForged says that a message isn't from the node that it's said to be from.
var errForged = fmt.Errorf("%w: the node has not signed it", ErrMalformed)

// unseal reads a message that only the node of that id can have sealed for this purpose.
func unseal(id, purpose string, s *schemas.Sealed, v any) error {
	if !nkeys.IsValidPublicUserKey(id) {
		return errForged
	}
	key, err := nkeys.FromPublicKey(id)
	if err != nil || key.Verify(append([]byte(purpose), s.Body...), s.Signature) != nil {
		return errForged
	}
	return schemas.Decode(s.Body, v)
}
