package agent

// maxValues is how many values one JSON text of a provider or a tool may have. Each may become a structure of a kilobyte when it is
// read, so a few bytes of nothing would take much memory otherwise (B4).
const maxValues = 1 << 16

// shape counts the values of JSON texts as they come, before they are read.
type shape struct {
	// events: the texts are those of a stream's events, which blank lines part.
	events bool

	values          int
	quoted, escaped bool
	// blank: nothing has come since the line began.
	blank bool
}

// holds looks at more bytes, and tells whether there are few enough values in them.
func (s *shape) holds(b []byte) bool {
	for _, c := range b {
		switch {
		case c == '\n': // no string goes on over the end of a line
			if s.events && s.blank {
				s.values = 0
			}
			s.quoted, s.escaped, s.blank = false, false, true
			continue
		case c == '\r':
			continue
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = s.quoted
		case c == '"':
			s.quoted = !s.quoted
		case !s.quoted && (c == ',' || c == '{' || c == '['):
			s.values++
		}
		s.blank = false
	}
	return s.values <= maxValues
}
