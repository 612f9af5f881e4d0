package bus

import (
	"fmt"
	"strings"
)

// deepest is the largest number of address tokens in the table.
const deepest = 4

// Parsed is a subject taken apart.
type Parsed struct {
	// Row is the subject's row of the table. It must not be changed.
	Row    *Row
	tokens [deepest]string
}

// Address gives the i-th token after the verb; see Row.Address for their names.
func (p *Parsed) Address(i int) string { return p.tokens[i] }

// Get gives the address token of a name, such as "host"; empty if the row has none.
func (p *Parsed) Get(name string) string {
	for i, n := range p.Row.Address {
		if n == name {
			return p.tokens[i]
		}
	}
	return ""
}

// Parse takes a subject apart. It fails for a subject that isn't in the table, has a wrong
// number of tokens, or one that isn't a token. It allocates nothing unless it fails.
func Parse(subject string) (Parsed, error) {
	var p Parsed
	rest, ok := strings.CutPrefix(subject, Prefix)
	if !ok {
		return p, fmt.Errorf("subject %q doesn't begin with %q", subject, Prefix)
	}
	verb, address := splitVerb(rest)
	n := 0
	for more := address != "" || len(verb) < len(rest); more; n++ {
		var token string
		token, address, more = strings.Cut(address, ".")
		if n == deepest || !isToken(token) {
			return p, fmt.Errorf("subject %q has a bad address", subject)
		}
		p.tokens[n] = token
	}
	if p.Row = rowOf(verb, n); p.Row == nil {
		return p, fmt.Errorf("subject %q isn't one of the table", subject)
	}
	return p, nil
}

// splitVerb parts a subject after its verb: one token, or three of the feed.
func splitVerb(s string) (verb, rest string) {
	tokens := 1
	if strings.HasPrefix(s, verbFeed+".") {
		tokens = 3
	}
	for i := range len(s) {
		if s[i] == '.' {
			if tokens--; tokens == 0 {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

func rowOf(verb string, depth int) *Row {
	for _, r := range byVerb[verb] {
		if len(r.Address) == depth {
			return r
		}
	}
	return nil
}

var byVerb = func() map[string][]*Row {
	m := make(map[string][]*Row, len(rows))
	for i := range rows {
		m[rows[i].Verb] = append(m[rows[i].Verb], &rows[i])
	}
	return m
}()

// FactFor gives a new value (a pointer) of the type that a feed subject carries.
func FactFor(subject string) (any, error) {
	p, err := Parse(subject)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(p.Row.Verb, verbFeed+".") {
		return nil, fmt.Errorf("subject %q carries no fact: facts are under %q", subject, Facts())
	}
	return p.Row.New(), nil
}

// ParseReply gives the call that an answer's subject names.
func ParseReply(subject string) (host, cell, call string, err error) {
	p, err := parseAs(subject, verbReply)
	return p.tokens[0], p.tokens[1], p.tokens[2], err
}

// ParseStop gives the owner (an [OwnerToken]) and the call that a stop's subject names.
func ParseStop(subject string) (ownerToken, host, cell, call string, err error) {
	p, err := parseAs(subject, verbStop)
	return p.tokens[0], p.tokens[1], p.tokens[2], p.tokens[3], err
}

func parseAs(subject, verb string) (Parsed, error) {
	p, err := Parse(subject)
	if err == nil && p.Row.Verb != verb {
		err = fmt.Errorf("subject %q isn't %s", subject, byVerb[verb][0].Pattern())
	}
	if err != nil {
		return Parsed{}, err
	}
	return p, nil
}
