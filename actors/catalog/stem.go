package catalog

import "strings"

// stemOf cuts an English word, in lower case, to a form that its common endings share: plural,
// then -ing or -ed, then a silent e. Light on purpose: names of tools are short, and a stem
// that joins two meanings costs more there than one that misses a form.
func stemOf(word string) string {
	if len(word) <= 3 || len(word) > 40 || !ascii(word) {
		return word
	}
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		word = word[:len(word)-3] + "y"
	case hasAnySuffix(word, "sses", "shes", "ches", "xes", "zes"):
		word = word[:len(word)-2]
	case strings.HasSuffix(word, "s") && !hasAnySuffix(word, "ss", "us", "is"):
		word = word[:len(word)-1]
	}
	for _, ending := range [...]string{"ing", "ed"} {
		stem, cut := strings.CutSuffix(word, ending)
		if cut && len(stem) >= 3 && strings.ContainsAny(stem, "aeiouy") {
			if last := stem[len(stem)-1]; len(stem) > 3 && last == stem[len(stem)-2] && last != 'l' && last != 's' && last != 'z' {
				stem = stem[:len(stem)-1] // running → run
			}
			word = stem
			break
		}
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	return word
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(s, suffix) {
			return true
		}
	}
	return false
}
