package schemas

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Languages of programs under [Contract202607] (J1).
const (
	LanguageJavaScript = "javascript"
	LanguageTypeScript = "typescript"
)

// title is accepted, since people who watch like titles, and in no schema: that contract has none.
var exec202607Fields = []string{"code", "command", "language", "title"}

// ParseExecInput202607 checks the input of exec under [Contract202607] and brings it into one form (J1): {code?, command?,
// language?}. The result has a Language, and a Title that comes from the program if none is given. A program that doesn't say
// its language is in JavaScript, unless offered are others only. Whether the language is one of those that the configuration
// allows, [ExecInput.CheckLanguage] tells.
func ParseExecInput202607(input JSON, offered ...string) (ExecInput, *Error) {
	var in ExecInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	for _, name := range []string{"restartSafe", "awaitResults"} {
		if _, ok := f[name]; ok {
			return in, Refuse(name, name+`: remove this field: programs of the contract "`+Contract202607+`" don't have it`)
		}
	}
	if err := f.known(exec202607Fields); err != nil {
		return in, err
	}
	if in.Code, err = f.program(); err != nil {
		return in, err
	}
	if in.Language, err = f.text("language"); err != nil {
		return in, err
	}
	switch in.Language {
	case "":
		in.Language = unsaid(offered)
	case LanguageJavaScript, LanguageTypeScript:
	default:
		return in, Refuse("language", fmt.Sprintf("language: expected %q or %q, got %q", LanguageJavaScript, LanguageTypeScript, shorten(in.Language, 40)))
	}
	in.Title, err = f.titleFor(in.Code)
	return in, err
}

// unsaid is the language of a program that doesn't say it.
func unsaid(offered []string) string {
	if len(offered) == 0 || slices.Contains(offered, LanguageJavaScript) {
		return LanguageJavaScript
	}
	return offered[0]
}

// titleFor reads the title of a program. Without one it is made of the program.
func (f fields) titleFor(code string) (string, *Error) {
	title, err := f.text("title")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(title) == "" {
		return titleOf(code), nil
	}
	return oneLine(title)
}

// titleOf makes a title of a program: the first line with something to say, cut to [MaxTitle] characters.
func titleOf(code string) string {
	for line := range strings.Lines(code) {
		runes := []rune(line[:min(len(line), utf8.UTFMax*MaxTitle)])
		title, err := oneLine(string(runes[:min(len(runes), MaxTitle)]))
		if err == nil {
			return title
		}
	}
	return "Program"
}

// CheckLanguage refuses a program in a language that isn't allowed.
func (in ExecInput) CheckLanguage(allowed []string) *Error {
	if in.Language == "" || slices.Contains(allowed, in.Language) {
		return nil
	}
	return Refuse("language", fmt.Sprintf("language: %s isn't offered here: write the program in %s", in.Language, strings.Join(allowed, " or ")))
}

// json202607 is [ExecInput.JSON] under that contract.
func (in ExecInput) json202607() JSON {
	return marshal(struct {
		Code     string `json:"code"`
		Command  string `json:"command"`
		Language string `json:"language"`
	}{in.Code, in.Code, in.Language})
}

// ExecInputSchema202607 is the schema of exec as models see it under [Contract202607]: flat (A7), with the
// languages that are allowed.
func ExecInputSchema202607(languages []string) JSON {
	if len(languages) == 0 {
		languages = []string{LanguageJavaScript}
	}
	about := "What the program is written in; " + unsaid(languages) + " unless told."
	if slices.Contains(languages, LanguageTypeScript) {
		about += " Types are taken out of TypeScript, and nothing is checked."
	}
	type property struct {
		Type        string   `json:"type"`
		Enum        []string `json:"enum,omitempty"`
		Description string   `json:"description"`
	}
	return marshal(struct {
		Type       string `json:"type"`
		Properties struct {
			Code     property `json:"code"`
			Command  property `json:"command"`
			Language property `json:"language"`
		} `json:"properties"`
		AdditionalProperties bool `json:"additionalProperties"`
	}{Type: "object", Properties: struct {
		Code     property `json:"code"`
		Command  property `json:"command"`
		Language property `json:"language"`
	}{
		property{Type: "string", Description: "The program, run as the body of an async function: use await and return the result. " +
			"No modules, no shell text, no markdown fence. Required unless command is given."},
		property{Type: "string", Description: "Another name of code."},
		property{Type: "string", Enum: languages, Description: about},
	}})
}
