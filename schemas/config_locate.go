package schemas

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// keyPlaces says where in a JSON5 text each field stands.
type keyPlaces struct {
	text       []byte
	at         map[string]int // offset by path
	duplicates []duplicate
}

type duplicate struct {
	path string
	at   int
}

// position gives "line:column", both from one; columns count characters.
func position(b []byte, at int) string {
	before := b[:min(max(at, 0), len(b))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("%d:%d", line, column)
}

// of gives the place of a path, or of the nearest field around it.
func (k *keyPlaces) of(path string) int {
	for p := path; p != ""; p = parent(p) {
		if at, ok := k.at[p]; ok {
			return at
		}
	}
	return 0
}

// parent cuts the last step off a path.
func parent(p string) string {
	for i := len(p) - 1; i > 0; i-- {
		if p[i] == '.' || p[i] == '[' {
			return p[:i]
		}
	}
	return ""
}

// locateKeys finds the places of all fields of a text that is known to be correct JSON5. Since
// the syntax was checked by the parser that made the values, it only tells strings, comments,
// brackets and words apart.
func locateKeys(text []byte) *keyPlaces {
	k := &keyPlaces{text: text, at: map[string]int{}}
	s := &keyScanner{text: text}
	k.value(s, "", 0)
	return k
}

// maxPlaceDepth bounds recursion; deeper fields get the place of the field around them.
const maxPlaceDepth = 64

func (k *keyPlaces) value(s *keyScanner, path string, depth int) {
	switch t := s.next(); {
	case t == "{" && depth < maxPlaceDepth:
		seen := map[string]bool{}
		for {
			key := s.next()
			if key == "," {
				continue
			}
			if key == "}" || key == "" {
				return
			}
			at := s.start
			name := plainKey(key)
			p := join(path, name)
			if seen[name] {
				k.duplicates = append(k.duplicates, duplicate{p, at})
			}
			seen[name] = true
			k.at[p] = at
			s.next() // the colon
			k.value(s, p, depth+1)
		}
	case t == "[" && depth < maxPlaceDepth:
		for i := 0; ; {
			switch s.peek() {
			case "]", "":
				s.next()
				return
			case ",":
				s.next()
				i++
			default:
				p := join(path, i)
				k.at[p] = s.start
				k.value(s, p, depth+1)
			}
		}
	case t == "{" || t == "[":
		for open := 1; open > 0; {
			switch s.next() {
			case "{", "[":
				open++
			case "}", "]":
				open--
			case "":
				return
			}
		}
	}
}

// plainKey undoes the quoting of a key. Rare escapes stay as they are: the key only names a place.
func plainKey(key string) string {
	if len(key) < 2 || key[0] != '"' && key[0] != '\'' {
		return key
	}
	if key[0] == '"' {
		if s, err := strconv.Unquote(key); err == nil {
			return s
		}
	}
	return key[1 : len(key)-1]
}

// keyScanner splits JSON5 into brackets, commas, colons, strings and words. The end is "".
type keyScanner struct {
	text  []byte
	i     int
	start int // of the last token
}

func (s *keyScanner) peek() string {
	i := s.i
	t := s.next()
	s.i = i
	return t
}

func (s *keyScanner) next() string {
	s.skip()
	s.start = s.i
	if s.i >= len(s.text) {
		return ""
	}
	switch c := s.text[s.i]; c {
	case '{', '}', '[', ']', ',', ':':
		s.i++
	case '"', '\'':
		for s.i++; s.i < len(s.text) && s.text[s.i] != c; s.i++ {
			if s.text[s.i] == '\\' {
				s.i++
			}
		}
		s.i = min(s.i+1, len(s.text))
	default:
		for s.i < len(s.text) && !bytes.ContainsRune([]byte("{}[],:\"' \t\r\n/"), rune(s.text[s.i])) {
			s.i++
		}
		if s.i == s.start {
			s.i++
		}
	}
	return string(s.text[s.start:s.i])
}

// skip passes over white space and comments.
func (s *keyScanner) skip() {
	for s.i < len(s.text) {
		rest := s.text[s.i:]
		var end int // of what is passed over; -1 where it has no end
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			end = bytes.IndexByte(rest, '\n')
		case bytes.HasPrefix(rest, []byte("/*")):
			if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
				end += 3
			}
		case bytes.IndexByte([]byte(" \t\r\n\v\f"), rest[0]) >= 0:
			end = 0
		default:
			return
		}
		if end < 0 {
			s.i = len(s.text)
			return
		}
		s.i += end + 1
	}
}
