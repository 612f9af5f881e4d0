package schemas

import "unicode/utf8"

// Bounds of what the programs of a session store (T1). A value's size is that of its JSON text in UTF-8.
const (
	// MaxStoreKey bounds a key, in UTF-16 units, as programs count them.
	MaxStoreKey = 256
	// MaxStoreValue bounds one value, in bytes.
	MaxStoreValue = 256 << 10
	// MaxStoreBytes bounds all that is stored, keys and values together, in bytes.
	MaxStoreBytes = 1 << 20
)

// Bytes is what the write takes of [MaxStoreBytes]: nothing if it deletes.
func (w *StoreWrite) Bytes() int {
	if len(w.Value) == 0 {
		return 0
	}
	return len(w.Key) + len(w.Value)
}

// ValidStoreKey tells whether a session may have that key (T1).
func ValidStoreKey(key string) bool {
	if key == "" || len(key) > 3*MaxStoreKey || !utf8.ValidString(key) {
		return false
	}
	units := 0
	for _, r := range key {
		units++
		if r > 0xFFFF {
			units++
		}
	}
	return units <= MaxStoreKey
}
