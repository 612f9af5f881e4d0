package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/codecell/codecell/schemas"
)

// nameGlobals gives native and client tools their callable names (C4): an exact safe name stays; any
// other is made safe, and gets a suffix if that is reserved, or taken, or wanted by another tool
// as well. No name depends on the order of the tools. Those that are taken already are the namespaces'.
func nameGlobals(entries []*Entry, taken map[string]bool) {
	wanted := make(map[string]int)
	var inexact []*Entry
	for _, e := range entries {
		if e.Source == schemas.SourceMCP {
			continue
		}
		if safeGlobal(e.Name) && !taken[e.Name] {
			e.CallableName = e.Name
			taken[e.Name] = true
			continue
		}
		inexact = append(inexact, e)
		wanted[safeName(e.Name)]++
	}
	for _, e := range inexact {
		name := safeName(e.Name)
		if wanted[name] == 1 && !taken[name] && !globalReserved(name) && strings.Trim(name, "_") != "" {
			e.CallableName = name
		}
	}
	for _, e := range inexact {
		if e.CallableName != "" {
			taken[e.CallableName] = true
		}
	}
	for _, e := range inexact {
		if e.CallableName == "" {
			e.CallableName = suffixed(safeName(e.Name), e.ID(), taken)
			taken[e.CallableName] = true
		}
	}
}

// suffixed appends eight hex digits of the host-only id's hash; more only if somebody chose a
// name to be in the way.
func suffixed(name, id string, taken map[string]bool) string {
	if strings.Trim(name, "_") == "" {
		name = "tool"
	}
	sum := sha256.Sum256([]byte(id))
	digits := hex.EncodeToString(sum[:])
	for n := 8; n < len(digits); n += 8 {
		if candidate := name + "_" + digits[:n]; !taken[candidate] {
			return candidate
		}
	}
	return name + "_" + digits
}

// safeGlobal tells whether a name can be a global as it is.
func safeGlobal(name string) bool {
	return identifier(name) && !globalReserved(name) && !strings.HasPrefix(name, privatePrefix)
}

// safeName replaces what an identifier can't have. The result may be reserved or taken, or blank
// but for underscores.
func safeName(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case i == 0 && digit(r), i == 0 && strings.HasPrefix(name, privatePrefix):
			b.WriteString("tool_")
			b.WriteRune(r)
		case letter(r) || digit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// identifier tells whether text is a JavaScript identifier, reserved words included.
func identifier(text string) bool {
	for i, r := range text {
		if !letter(r) && (i == 0 || !digit(r)) {
			return false
		}
	}
	return text != ""
}

// letter and digit are the parts of identifiers that any engine and any parser agrees on: those
// of the basic plane.
func letter(r rune) bool {
	return r == '_' || r == '$' || r < 0x10000 && unicode.IsLetter(r)
}

func digit(r rune) bool { return r < 0x10000 && unicode.IsDigit(r) }
