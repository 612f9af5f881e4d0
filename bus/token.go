package bus

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/codecell/codecell/schemas"
)

const (
	// longestSafe is the longest name that stays as it is.
	longestSafe = 64
	// longestEscaped is the longest escaped name; a longer one is hashed.
	longestEscaped = 120
	// escaped and hashed begin the tokens that aren't names; a name that begins so is escaped.
	escaped = "_e-"
	hashed  = "_h-"
)

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Token maps any text to a token of a subject; different texts have different tokens. A
// name of at most 64 bytes from [A-Za-z0-9_-] is its own token. Others are escaped
// byte by byte, and what would be long is hashed (SHA-256).
func Token(name string) string {
	if len(name) <= longestSafe && isToken(name) && !strings.HasPrefix(name, escaped) && !strings.HasPrefix(name, hashed) {
		return name
	}
	return escape(name)
}

// escape writes bytes outside of [A-Za-z0-9_] as '-' and two hex digits.
func escape(name string) string {
	const hex = "0123456789abcdef"
	b := make([]byte, 0, longestEscaped)
	b = append(b, escaped...)
	for i := range len(name) {
		switch c := name[i]; {
		case tokenByte(c) && c != '-':
			b = append(b, c)
		default:
			b = append(b, '-', hex[c>>4], hex[c&15])
		}
		if len(b) > longestEscaped {
			sum := sha256.Sum256([]byte(name))
			return hashed + lowerBase32.EncodeToString(sum[:])
		}
	}
	return string(b)
}

// OwnerToken is the token of an owner of tools. MCP servers and clients have a prefix of
// their own, so a server named like a plugin is another owner.
func OwnerToken(source schemas.Source, owner string) string {
	switch source {
	case schemas.SourceMCP:
		return Token("mcp-" + owner)
	case schemas.SourceClient:
		return Token("client-" + owner)
	case schemas.SourceNative:
	}
	if strings.HasPrefix(owner, "mcp-") || strings.HasPrefix(owner, "client-") {
		return escape(owner)
	}
	return Token(owner)
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

// isToken says whether s may stand in a subject.
func isToken(s string) bool {
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// clean keeps a token and escapes anything else. No token is long: a server ends the connection of a
// client whose line is longer than it takes, and ids come from others.
func clean(s string) string {
	if len(s) <= longestEscaped && isToken(s) {
		return s
	}
	return escape(s)
}
