package run

import (
	"regexp"
	"strings"
)

// rule finds one form of credential.
type rule struct {
	// hint stands in every match; a text without it isn't searched.
	hint string
	re   *regexp.Regexp
	// group is what is masked of a match: 0 is all, else the first group from this one on that took part.
	group int
	// name, if not 0, is a group that must look like a credential's name.
	name int
	// plausible, if set, has the last word on what would be masked.
	plausible func(secret string) bool
}

// mask takes the matches between the masks out of a text.
func (r *rule) mask(text string) string {
	if !strings.Contains(text, r.hint) {
		return text
	}
	return outside(text, r.maskPart)
}

func (r *rule) maskPart(part string) string {
	var out strings.Builder
	kept := 0
	r.each(part, func(start, end int) {
		out.WriteString(part[kept:start])
		out.WriteString(cover(part[start:end]))
		kept = end
	})
	if kept == 0 {
		return part
	}
	return out.String() + part[kept:]
}

// each gives the place of every secret in a text, in order.
func (r *rule) each(text string, found func(start, end int)) {
	for from := 0; from < len(text); {
		m := r.re.FindStringSubmatchIndex(text[from:])
		if m == nil {
			return
		}
		at := 2 * r.group
		for at+2 < len(m) && m[at] < 0 {
			at += 2
		}
		start, end := from+max(m[at], 0), from+max(m[at+1], 0)
		secret := text[start:end]
		switch {
		case r.name > 0 && !isCredential(text[from+m[2*r.name]:from+m[2*r.name+1]]):
			from += max(m[2*r.name+1], 1) // what follows may be a name, too
		case isBlank(secret) || r.plausible != nil && !r.plausible(secret):
			from += max(m[1], 1)
		default:
			found(start, end)
			from = end
		}
	}
}

// isBlank tells whether masking a text would hide nothing.
func isBlank(text string) bool {
	return strings.Trim(text, " \t\n\r\v\f\\\u2028\u2029") == ""
}

// knownForms are credentials that are recognised wherever they stand.
var knownForms = []rule{
	{hint: "-----BEGIN ", re: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----(?s:.*?)-----END [A-Z0-9 ]+-----`)},
	{hint: "-----BEGIN ", re: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----(?:[A-Za-z0-9+/=\s]|\\[nr]|\\\r?\n)*`)}, // its end is missing
	{hint: "eyJ", re: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)},
	{hint: "sk-", re: regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`)},
	{hint: "k_", re: regexp.MustCompile(`\b[prs]k_(?:live|test)_[A-Za-z0-9]{10,}`)},
	{hint: "whsec_", re: regexp.MustCompile(`\bwhsec_[A-Za-z0-9+/=]{16,}`)},
	{hint: "gh", re: regexp.MustCompile(`\bgh[oprsu]_[A-Za-z0-9]{20,}`)},
	{hint: "github_pat_", re: regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`)},
	{hint: "glpat-", re: regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`)},
	{hint: "xox", re: regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{10,}`)},
	{hint: "xapp-", re: regexp.MustCompile(`\bxapp-[A-Za-z0-9-]{10,}`)},
	{hint: "IA", re: regexp.MustCompile(`\bA[KS]IA[A-Z0-9]{16}\b`)},
	{hint: "AIza", re: regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`)},
	{hint: "npm_", re: regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}`)},
	{hint: "pypi-", re: regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{20,}`)},
	{hint: "hf_", re: regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`)},
	{hint: "SG.", re: regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`)},
	{re: regexp.MustCompile(`(?i)\b(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/=-]{8,})`), group: 1, plausible: isOpaque},
	{hint: "://", re: regexp.MustCompile("(?i)\\b[a-z][a-z0-9+.-]*://[^\\s/:@\"'`{}]*:([^\\s/@\"'`{}]+)@"), group: 1},
}

// isKnownForm tells whether a text holds a credential of a known form.
func isKnownForm(text string) bool {
	for i := range knownForms {
		if knownForms[i].mask(text) != text {
			return true
		}
	}
	return false
}

// isOpaque tells what only a machine makes from a word after "bearer" or "basic" in a sentence.
func isOpaque(text string) bool {
	return len(text) >= 24 || strings.ContainsAny(text, "0123456789+/=_")
}

// assigned is what a program that can't be parsed gives to a credential's name: a literal. There may be a type between
// them, as in TypeScript.
var assigned = rule{
	re: regexp.MustCompile(`([A-Za-z_$][\w$-]*)["'\x60]?\]?(?:\s*:\s*[A-Za-z_$][\w$.<>\[\]|& ]*)?\s*(?:[:=]|\|\|=|\?\?=)\s*` +
		`(?:"((?:[^"\\\n]|\\.)*)"?|'((?:[^'\\\n]|\\.)*)'?|\x60((?:[^\x60\\]|\\(?s:.))*)\x60?)`),
	group: 2, name: 1, plausible: isSecret,
}

// told is what a text says of a credential: "password=…", "Authorization: Bearer …", {"token":"…"}. It holds within
// the literals of programs, too.
var told = rule{
	re: regexp.MustCompile(`([A-Za-z_$][\w$-]*)(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?` +
		`((?:(?i:bearer|basic|token|apikey|digest)\s+)?[^\s"'\x60&,;\\{}()<>]{4,})`),
	group: 2, name: 1, plausible: func(text string) bool { return isSecret(text) && isOpaque(text) },
}
