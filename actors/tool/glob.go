package tool

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// maxPatternBytes bounds globs and regular expressions: matching is linear in the text,
// and compiled size is linear in the pattern.
const maxPatternBytes = 1 << 10

// glob matches slash-separated relative paths: * and ? stay within a name, ** crosses
// folders, [a-z] and [!a-z] are classes, {a,b} are alternatives. A glob without a slash
// matches a name at any depth.
type glob struct {
	re       *regexp.Regexp
	baseOnly bool
}

// parseGlob compiles a glob.
func parseGlob(pattern string) (*glob, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if pattern == "" {
		return nil, fmt.Errorf("the pattern is empty: give a glob such as \"**/*.go\"")
	}
	var out strings.Builder
	out.WriteString(`\A(?s:`)
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			switch {
			case strings.HasPrefix(pattern[i:], "**/") && (i == 0 || pattern[i-1] == '/'):
				out.WriteString(`(?:.*/)?`)
				i += 2
			case strings.HasPrefix(pattern[i:], "**"):
				out.WriteString(`.*`)
				i++
			default:
				out.WriteString(`[^/]*`)
			}
		case '?':
			out.WriteString(`[^/]`)
		case '{':
			depth++
			out.WriteString(`(?:`)
		case '}':
			if depth == 0 {
				out.WriteString(`\}`)
				continue
			}
			depth--
			out.WriteString(`)`)
		case ',':
			if depth > 0 {
				out.WriteString(`|`)
			} else {
				out.WriteString(`,`)
			}
		case '[':
			class, used, err := globClass(pattern[i:])
			if err != nil {
				return nil, err
			}
			out.WriteString(class)
			i += used - 1
		case '\\':
			if i++; i == len(pattern) {
				return nil, fmt.Errorf("the pattern ends in a single backslash: write \\\\ for a backslash")
			}
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("the pattern has a { without its }")
	}
	out.WriteString(`)\z`)
	re, err := regexp.Compile(out.String())
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is no glob: use *, **, ?, [a-z] and {a,b}", pattern)
	}
	return &glob{re: re, baseOnly: !strings.Contains(pattern, "/")}, nil
}

// globClass translates a [class] and tells how many bytes it took.
func globClass(s string) (class string, used int, err error) {
	end := strings.IndexByte(s[1:], ']')
	if end == 0 { // a ] right after the [ is a member of the class
		if next := strings.IndexByte(s[2:], ']'); next >= 0 {
			end = next + 1
		}
	}
	if end <= 0 {
		return "", 0, fmt.Errorf("the pattern has a [ without its ]")
	}
	body := s[1 : 1+end]
	not := ""
	if body[0] == '!' || body[0] == '^' {
		not, body = "^", body[1:]
	}
	if body == "" {
		return "", 0, fmt.Errorf("the pattern has an empty [class]")
	}
	quote := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `/`, ``)
	return "[" + not + quote.Replace(body) + "]", end + 2, nil
}

// match tells whether a relative path fits.
func (g *glob) match(rel string) bool {
	if g.baseOnly {
		rel = path.Base(rel)
	}
	return g.re.MatchString(rel)
}
