package host

import (
	"crypto/rand"
	"strings"
	"sync"
)

// routes is a table of where messages are handed to. Handlers of the bus read it, so
// that a message reaches its actor without a detour.
type routes[K comparable, T any] struct{ table sync.Map }

func (r *routes[K, T]) set(key K, to T) { r.table.Store(key, to) }

func (r *routes[K, T]) remove(key K) { r.table.Delete(key) }

func (r *routes[K, T]) get(key K) (to T, ok bool) {
	v, ok := r.table.Load(key)
	if !ok {
		return to, false
	}
	return v.(T), true
}

func (r *routes[K, T]) all() (out []T) {
	r.table.Range(func(_, v any) bool {
		out = append(out, v.(T))
		return true
	})
	return out
}

// newRunToken mints the token that addresses a run on the bus.
func newRunToken() string { return "r" + strings.ToLower(rand.Text()[:16]) }
