package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// maxRepeats is how many answers in a row may call the same and be told the same.
const maxRepeats = 8

// repeats notices a model that goes round in circles.
type repeats struct {
	last [sha256.Size]byte
	// times is how often in a row the last was seen.
	times int
}

// round begins what an answer calls and is told.
func (r *repeats) round() *round { return &round{hash: sha256.New()} }

// round is what one answer calls and is told.
type round struct {
	hash hash.Hash
	// moving: something in it goes on, as a program does that waits.
	moving bool
}

// add adds a call with what it was told, in the order of the calls. An outcome that stands for something that goes on is
// the same as no other.
func (r *round) add(name, arguments string, o *outcome) {
	r.moving = r.moving || o.moving
	for _, text := range [...]string{name, arguments, o.same} {
		r.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		r.hash.Write([]byte(text))
	}
}

// seen tells how often in a row this round was seen, itself included.
func (r *repeats) seen(round *round) int {
	var sum [sha256.Size]byte
	round.hash.Sum(sum[:0])
	switch {
	case round.moving:
		r.times = 0
	case r.times > 0 && sum == r.last:
		r.times++
	default:
		r.times = 1
	}
	r.last = sum
	return r.times
}
