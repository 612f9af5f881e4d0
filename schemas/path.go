package schemas

import (
	"fmt"
	"strconv"
	"strings"
)

// join appends one step to the path of a field, as people write it: a.b, a[0], a["odd key"].
func join(path string, step any) string {
	switch s := step.(type) {
	case int:
		return path + "[" + strconv.Itoa(s) + "]"
	case string:
		switch {
		case !isName(s):
			return path + "[" + strconv.Quote(s) + "]"
		case path == "":
			return s
		default:
			return path + "." + s
		}
	default:
		panic(fmt.Sprintf("path step of type %T", step))
	}
}

// isName tells whether a key can stand in a path without quotes.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r == '_' || r == '-' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) < 0
}
