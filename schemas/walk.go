package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

const (
	// MaxDepth is the deepest nesting of a message.
	MaxDepth = 16
	// MaxKey is the longest field name, in bytes.
	MaxKey = 64
	// MaxAmplification bounds what a decoded message's slices may take, in bytes for each byte
	// of the message. The smallest honest element of any message needs a third of it.
	MaxAmplification = 16
	// freeBytes may be taken by slices of a message of any length.
	freeBytes = 64 << 10
)

var (
	errCut      = errors.New("malformed message: it ends inside a value")
	errTrailing = errors.New("malformed message: bytes follow the value")
	errDeep     = fmt.Errorf("malformed message: nested deeper than %d", MaxDepth)
	errKey      = fmt.Errorf("malformed message: a map key isn't a string of at most %d bytes", MaxKey)
	errType     = errors.New("malformed message: extension or reserved type")
	errHuge     = fmt.Errorf("malformed message: its lists would take more than %d times its size", MaxAmplification)
)

// walk checks, without allocating, that b is exactly one MessagePack value that is safe to hand
// to the decoder: every length fits into the bytes left, nesting is bounded, there are no
// extensions, keys are short strings, and lists whose elements take weight bytes each stay
// within the amplification bound. The decoder trusts lengths; after walk it may.
func walk(b []byte, weight int) error {
	var (
		left  [MaxDepth + 1]int // values still to come in each open container
		isMap [MaxDepth + 1]bool
		depth int
		i     int
		free  = int64(freeBytes) + MaxAmplification*int64(len(b))
	)
	left[0] = 1
	for {
		for left[depth] == 0 {
			if depth == 0 {
				if i != len(b) {
					return errTrailing
				}
				return nil
			}
			depth--
		}
		if i >= len(b) {
			return errCut
		}
		key := isMap[depth] && left[depth]&1 == 0
		left[depth]--
		c := b[i]
		i++
		rest := len(b) - i
		size, open, list := 0, -1, false // bytes to skip, or values to enter
		switch {
		case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3: // fixint, nil, bool
		case c <= 0x8f: // fixmap
			open = int(c&0x0f) * 2
		case c <= 0x9f: // fixarray
			open, list = int(c&0x0f), true
		case c <= 0xbf: // fixstr
			size = int(c & 0x1f)
		case c == 0xc4 || c == 0xd9: // bin8, str8
			if rest < 1 {
				return errCut
			}
			size = 1 + int(b[i])
		case c == 0xc5 || c == 0xda: // bin16, str16
			if rest < 2 {
				return errCut
			}
			size = 2 + int(binary.BigEndian.Uint16(b[i:]))
		case c == 0xc6 || c == 0xdb: // bin32, str32
			if rest < 4 {
				return errCut
			}
			n := binary.BigEndian.Uint32(b[i:])
			if uint64(n) > uint64(rest) {
				return errCut
			}
			size = 4 + int(n)
		case c >= 0xca && c <= 0xd3: // float32, float64, uint8 … int64
			size = [...]int{4, 8, 1, 2, 4, 8, 1, 2, 4, 8}[c-0xca]
		case c == 0xdc || c == 0xde: // array16, map16
			if rest < 2 {
				return errCut
			}
			open, list = int(binary.BigEndian.Uint16(b[i:])), c == 0xdc
			i += 2
		case c == 0xdd || c == 0xdf: // array32, map32
			if rest < 4 {
				return errCut
			}
			n := binary.BigEndian.Uint32(b[i:])
			if uint64(n) > uint64(rest) {
				return errCut
			}
			open, list = int(n), c == 0xdd
			i += 4
		default: // ext, and 0xc1 that is never used
			return errType
		}
		if c == 0xde || c == 0xdf {
			open *= 2
		}
		if key && (open >= 0 || size > MaxKey+1 || !isString(c)) {
			return errKey
		}
		if open < 0 {
			if size > len(b)-i {
				return errCut
			}
			i += size
			continue
		}
		if open > len(b)-i {
			return errCut
		}
		if list {
			if free -= int64(open) * int64(weight); free < 0 {
				return errHuge
			}
		}
		if depth == MaxDepth {
			return errDeep
		}
		depth++
		left[depth], isMap[depth] = open, !list
	}
}

// isString tells the type codes of strings that a field name can have.
func isString(c byte) bool { return c&0xe0 == 0xa0 || c == 0xd9 }

// weights caches weigh by message type.
var weights sync.Map

// weigh gives the size in memory of the largest list element that a message of type t can hold.
// The walk doesn't know which list it is in, so it charges every element this much.
func weigh(t reflect.Type) int {
	if w, ok := weights.Load(t); ok {
		return w.(int)
	}
	w := 1
	if t != nil {
		w = max(w, heaviest(t, nil))
	}
	weights.Store(t, w)
	return w
}

// heaviest finds the largest element of the lists within t; above are the types around it.
func heaviest(t reflect.Type, above []reflect.Type) int {
	if slices.Contains(above, t) {
		return 0
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Pointer:
		return heaviest(t.Elem(), above)
	case reflect.Slice:
		return max(footprint(t.Elem()), heaviest(t.Elem(), above))
	case reflect.Struct:
		w := 0
		for f := range t.Fields() {
			w = max(w, heaviest(f.Type, above))
		}
		return w
	default:
		return 0
	}
}

// footprint is the size of a t with what its pointers point to.
func footprint(t reflect.Type) int {
	n := int(t.Size())
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			if f.Type.Kind() == reflect.Pointer {
				n += int(f.Type.Elem().Size())
			}
		}
	}
	return n
}
