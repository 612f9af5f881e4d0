package catalog

import "unicode"

// stopWords say nothing about what a tool does.
var stopWords = words(`
	a about also am an and any are as at be been but by can could do does don for from has have he her here him his how i if
	im in into is it its just ll me must my now of on only or our please re she should so some such than that the their them
	then there these they this to too us ve very was we were what when where which who whom why will with would you your`)

// askWords, as stems, are what people say around what they want. They count less in a query, and not nothing: a tool may
// like a post or let a room.
var askWords = words(`help know let lik need tell want`)

// askShare is how much a word of asking counts.
const askShare = 0.25

// tokenizer splits text into search terms and remembers the stems that it has worked out. It is
// for one goroutine, until it is only read.
type tokenizer struct {
	stems map[string]string
}

// each calls yield with every term of text: runs of letters and runs of digits, split where
// identifiers are (createIssue, create_issue, HTTPServer, sha256), in lower case, without stop
// words, stemmed. Scripts without spaces between words give pairs of characters.
func (t *tokenizer) each(text string, learn bool, yield func(term string)) {
	start, last := -1, class(0)
	flush := func(end int) {
		if start >= 0 {
			t.word(text[start:end], last, learn, yield)
		}
		start = -1
	}
	var previous rune
	previousAt := 0
	for i, r := range text {
		k := classOf(r)
		switch {
		case k == other:
			flush(i)
		case start < 0:
			start = i
		case family(k) != family(last):
			flush(i)
			start = i
		case k == upper && last == lower:
			flush(i)
			start = i
		case k == lower && last == upper && previousAt > start && unicode.IsUpper(previous):
			// HTTPServer: the last capital belongs to the word that it begins.
			cutAt := previousAt
			t.word(text[start:cutAt], upper, learn, yield)
			start = cutAt
		}
		last, previous, previousAt = k, r, i
	}
	flush(len(text))
}

// class is what a character is to the tokenizer.
type class uint8

const (
	other class = iota
	lower
	upper
	number
	dense // of a script without spaces between words
)

func classOf(r rune) class {
	switch {
	case r < 0x80:
		switch {
		case r >= 'a' && r <= 'z':
			return lower
		case r >= 'A' && r <= 'Z':
			return upper
		case r >= '0' && r <= '9':
			return number
		}
		return other
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return dense
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower
	case unicode.IsDigit(r):
		return number
	}
	return other
}

// family groups the classes that make one run.
func family(k class) class {
	if k == upper {
		return lower
	}
	return k
}

func (t *tokenizer) word(word string, k class, learn bool, yield func(string)) {
	switch k {
	case number:
		yield(word)
	case dense:
		runes := []rune(word)
		if len(runes) == 1 {
			yield(word)
		}
		for i := 0; i+1 < len(runes); i++ {
			yield(string(runes[i : i+2]))
		}
	default:
		stem, known := t.stems[word]
		if !known {
			folded := foldCase(word)
			if !stopWords[folded] {
				stem = stemOf(folded)
			}
			if learn {
				t.stems[word] = stem
			}
		}
		if stem != "" {
			yield(stem)
		}
	}
}
