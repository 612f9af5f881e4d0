package schemas

import (
	"strings"
	"testing"
)

func TestSpec_T1_StoreKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"":                                   false,
		"a":                                  true,
		"__proto__":                          true,
		strings.Repeat("a", MaxStoreKey):     true,
		strings.Repeat("a", MaxStoreKey+1):   false,
		strings.Repeat("€", MaxStoreKey):     true,
		strings.Repeat("😀", MaxStoreKey/2):   true,
		strings.Repeat("😀", 1+MaxStoreKey/2): false,
		"a\xff":                              false,
	} {
		if got := ValidStoreKey(key); got != want {
			t.Errorf("a key of %d bytes is valid: %v, want %v", len(key), got, want)
		}
	}
}

func TestSpec_T1_StoreWritesAreMeasuredInBytes(t *testing.T) {
	for _, c := range []struct {
		write StoreWrite
		want  int
	}{
		{StoreWrite{Key: "é", Value: JSON(`"€"`)}, 7},
		{StoreWrite{Key: "k", Value: JSON("null")}, 5},
		{StoreWrite{Key: "deleted"}, 0},
	} {
		if got := c.write.Bytes(); got != c.want {
			t.Errorf("%+v takes %d bytes, want %d", c.write, got, c.want)
		}
	}
}
