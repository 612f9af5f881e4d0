package host

import (
	"strings"
	"testing"
)

func TestSpec_G11_FrontMatter(t *testing.T) {
	long := strings.Repeat("é", 2000)
	for text, want := range map[string]frontMatter{
		"":                                    {},
		"# A title\nname: x":                  {},
		"---\nname: a\ndescription: b\n---\n": {"a", "b"},
		"\ufeff---\r\nname: a\r\ndescription: b\r\n---\r\n":                   {"a", "b"},
		"---  \nname:   a b  \n# comment\nother: {x: 1}\n---":                 {"a b", ""},
		"---\nname: a # why\ndescription: a#b\n...\n":                         {"a", "a#b"},
		"---\nname: # nothing\n---":                                           {},
		"---\nname: \"a \\\"b\\\"\\n\\u00e9\" # c\ndescription: 'it''s'\n---": {"a \"b\" é", "it's"},
		"---\ndescription: |\n  one\n\n  two: 2\nname: a\n---":                {"a", "one two: 2"},
		"---\ndescription: >-\n  name: no\n  two\n---":                        {"", "name: no two"},
		"---\ndescription: one\n  two\n\tthree\nname: a\n---":                 {"a", "one two three"},
		"---\nmetadata:\n  name: no\n  description: no\nname: a\n---":         {"a", ""},
		"---\nname: a\n---\n---\nname: b\n---":                                {"a", ""},
		"---\ndescription: " + long + "\n---":                                 {"", long[:2*maxSkillDescription]},
		"---\nname: \x1b[31ma\n---":                                           {"[31ma", ""},
	} {
		if got, err := readFrontMatter(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"---\nname: a\n":               "isn't closed",
		"---":                          "isn't closed",
		"---\nname: \"a\n---":          "name: the double quotes",
		"---\ndescription: 'a\n---":    "description: the single quotes",
		"---\nname: " + long + "\n---": "longer than 64",
	} {
		if got, err := readFrontMatter(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v; want %s", text, got, err, want)
		}
	}
}

func FuzzReadFrontMatter(f *testing.F) {
	f.Add("---\nname: 'a'\ndescription: >\n  b\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		head, err := readFrontMatter(text)
		if err == nil && strings.ContainsAny(head.name+head.description, "\n\r\x00") {
			t.Errorf("%q", head)
		}
	})
}
