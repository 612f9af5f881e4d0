package schemas

import "regexp"

// address is a URL in a text: its scheme, who logs in, the place, and the query.
var address = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/@"',]*@)?([^\s"',?]*)(\?[^\s"',]*)?`)

// VeilURLs takes out of the addresses in a text what may be secret, credentials and query (B5). It's for errors of
// libraries, which tell the whole address.
func VeilURLs(text string) string {
	return address.ReplaceAllStringFunc(text, func(found string) string {
		m := address.FindStringSubmatch(found)
		veiled := m[1]
		if m[2] != "" {
			veiled += "…@"
		}
		veiled += m[3]
		if m[4] != "" {
			veiled += "?…"
		}
		return veiled
	})
}
