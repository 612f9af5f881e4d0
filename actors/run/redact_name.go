package run

import (
	"slices"
	"strings"
	"unicode"
)

// credentialEnds are how a credential's name ends, written without what separates its words. The longer ones would be
// covered by "key", which too much else is called.
var credentialEnds = []string{
	"token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "authorization", "setcookie",
	"apikey", "secretkey", "privatekey", "accesskey", "authkey", "signingkey", "encryptionkey", "masterkey", "sharedkey",
	"accountkey", "subscriptionkey", "licensekey", "sshkey", "servicekey", "connectionstring",
}

// credentialWords are names, or their last words, that are too short to be found within longer ones.
var credentialWords = []string{"pass", "pwd", "pw", "pin", "otp", "totp", "jwt", "bearer", "cookie", "creds"}

// decorations may follow and say nothing about what the value is.
var decorations = []string{
	"default", "dev", "fallback", "header", "live", "literal", "plain", "prod", "production", "raw", "staging", "str", "string",
	"test", "text", "val", "value",
}

// pagination is called token, and isn't one that opens anything.
var pagination = []string{
	"pagetoken", "cursortoken", "continuationtoken", "nexttoken", "synctoken", "canceltoken", "cancellationtoken", "stoptoken", "eostoken",
}

// counted are tokens that models are paid for: these plurals are numbers.
var counted = []string{
	"prompttokens", "inputtokens", "cachedtokens", "completiontokens", "outputtokens", "reasoningtokens", "totaltokens", "maxtokens", "contexttokens",
}

// isCredential tells whether a name is that of a credential: apiKey, API_KEY, "x-auth-token", dbPassword2.
func isCredential(name string) bool {
	words := nameWords(name)
	for len(words) > 1 && slices.Contains(decorations, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	joined := strings.Join(words, "")
	singular := strings.TrimSuffix(joined, "s")
	if slices.Contains(credentialWords, last) {
		return true
	}
	if slices.ContainsFunc(pagination, func(end string) bool { return strings.HasSuffix(singular, end) }) ||
		slices.ContainsFunc(counted, func(end string) bool { return strings.HasSuffix(joined, end) }) {
		return false
	}
	for _, end := range credentialEnds {
		if strings.HasSuffix(joined, end) || strings.HasSuffix(singular, end) {
			return true
		}
	}
	return false
}

// isPlural tells whether a credential's name is that of several.
func isPlural(name string) bool {
	words := nameWords(name)
	return len(words) > 0 && strings.HasSuffix(words[len(words)-1], "s") && !strings.HasSuffix(words[len(words)-1], "pass")
}

// nameWords splits a name at its case, digits and signs.
func nameWords(name string) []string {
	var list []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]),
			// The last capital of several begins the next word: APIKey.
			unicode.IsUpper(r) && i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// isScheme tells whether a text only names how a request is authorised: what follows it is the secret.
func isScheme(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "bearer", "basic", "token", "apikey", "digest":
		return true
	}
	return false
}

// isHarmless tells whether a value hides nothing, whatever its name is: what fetch knows as credentials, words for
// nothing, and what is masked already.
func isHarmless(text string) bool {
	text = strings.Trim(strings.ReplaceAll(text, mask, ""), " \t\n\r\v\f\\\u2028\u2029")
	switch strings.ToLower(text) {
	case "", "include", "omit", "same-origin", "true", "false", "null", "none", "undefined":
		return true
	}
	return isScheme(text)
}

// isSecret tells whether the value of a credential is worth masking.
func isSecret(text string) bool { return !isHarmless(text) }
