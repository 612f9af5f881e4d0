package schemas

import (
	"net/url"
	"strconv"
	"strings"
)

// resolve follows a JSON pointer as it stands in a URL's fragment; what isn't there is nil.
func resolve(doc any, pointer string) any {
	if pointer == "" {
		return doc
	}
	if pointer[0] != '/' {
		return nil
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if s, err := url.PathUnescape(step); err == nil {
			step = s
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch in := doc.(type) {
		case map[string]any:
			doc = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			doc = in[i]
		default:
			return nil
		}
	}
	return doc
}
