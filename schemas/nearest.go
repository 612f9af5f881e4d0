package schemas

import (
	"slices"
	"strings"
)

// Nearest finds the one of names that a misspelt word most likely meant, or "". Case, "-" and "_"
// count for nothing; ties go to the first in alphabetical order.
func Nearest(word string, names []string) string {
	const longest = 64 // longer words aren't typed by hand
	if len(word) > longest {
		return ""
	}
	w := fold(word)
	best, bestDistance := "", 1+max(1, len(w)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if len(n) > longest {
			continue
		}
		f := fold(n)
		d := distance(w, f)
		if d > 0 && len(w) >= 3 && len(f) >= 3 && (strings.HasPrefix(f, w) || strings.HasPrefix(w, f)) {
			d = min(d, 2)
		}
		if d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

var separators = strings.NewReplacer("-", "", "_", "", " ", "", ".", "")

func fold(s string) string { return separators.Replace(strings.ToLower(s)) }

// distance is the number of letters to insert, remove, replace or swap with their neighbour.
func distance(a, b string) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
