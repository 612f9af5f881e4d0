package run

import (
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/codecell/codecell/schemas"
)

const (
	// transformerEnv makes a process of this program a transformer: it reads one program, answers, and ends.
	transformerEnv = "CODECELL_TYPESCRIPT"
	// transformerMark stands before the answer.
	transformerMark = "\ncodecell-typescript 1\n"
	// transformerStack bounds the stack of a transformer, in bytes.
	transformerStack = 128 << 20
)

// A transformer is the same program again, so that whoever embeds codecell needs no second one.
func init() {
	if os.Getenv(transformerEnv) != "" {
		os.Exit(beTransformer()) //nolint:forbidigo // this process must not come to main
	}
}

// beTransformer answers one program, and gives the exit code.
func beTransformer() int {
	debug.SetMaxStack(transformerStack)
	time.AfterFunc(2*maxTransform, func() {
		os.Exit(1) //nolint:forbidigo // whoever would have ended this process is gone
	})
	source, err := io.ReadAll(io.LimitReader(os.Stdin, schemas.MaxCodeBytes+1))
	if err != nil {
		return 1
	}
	answer, err := json.Marshal(runTransformer(string(source)))
	if err != nil {
		return 1
	}
	if _, err := os.Stdout.WriteString(transformerMark + string(answer)); err != nil {
		return 1
	}
	return 0
}

const (
	// The wrapper makes await and return legal, as they are in a cell. It has a line of its own.
	typeScriptHead = "async function program(){"
	typeScriptTail = "\n}"
)

// runTransformer transforms one program in this process.
func runTransformer(source string) *transformed {
	result := api.Transform(typeScriptHead+"\n"+source+typeScriptTail, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ESNext, LogLevel: api.LogLevelSilent,
		// Without white space, tokens can be laid where they were. Comments are none.
		MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Charset: api.CharsetUTF8, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
	})
	if len(result.Errors) > 0 {
		return diagnose(source, &result.Errors[0])
	}
	code := string(result.Code)
	if laid, ok := relay(code, result.Map); ok && sameProgram(laid, code) {
		code = laid
	}
	body, ok := unwrap(code)
	if !ok {
		return &transformed{Message: `Unexpected "}"`, Line: 1, Column: 1}
	}
	_, plain := printJavaScript(typeScriptHead + "\n" + source + typeScriptTail)
	return &transformed{Code: body, Plain: plain}
}

// unwrap takes the body out of the wrapper. The line of the head stays out with it.
func unwrap(code string) (body string, ok bool) {
	body, ok = strings.CutPrefix(code, typeScriptHead)
	if !ok {
		return "", false
	}
	body = strings.TrimPrefix(body, "\n")
	return strings.CutSuffix(strings.TrimRight(body, " \n"), "}")
}

// sameProgram proves that moving tokens has changed nothing but their places: printed anew, both are one text.
func sameProgram(a, b string) bool {
	first, ok := printJavaScript(a)
	second, also := printJavaScript(b)
	return ok && also && first == second
}

// printJavaScript gives a program in the one form that its meaning has, if it is JavaScript.
func printJavaScript(code string) (printed string, ok bool) {
	result := api.Transform(code, api.TransformOptions{
		Loader: api.LoaderJS, Target: api.ESNext, LogLevel: api.LogLevelSilent,
		MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
	})
	return string(result.Code), len(result.Errors) == 0
}

// diagnose gives the place of an error in the submitted source.
func diagnose(source string, m *api.Message) *transformed {
	t := &transformed{Message: m.Text, Line: 1, Column: 1}
	if m.Location == nil {
		return t
	}
	line := m.Location.Line - 1 // that of the head
	if inTail := offsetOf(source+"\n", line, 0) > len(source); inTail {
		t.Message = "unexpected end of the program (" + m.Text + ")"
		t.Line, t.Column = placeOf(source, len(source))
		return t
	}
	at := offsetOf(source, line, m.Location.Column)
	t.Line, t.Column = placeOf(source, at)
	before := strings.TrimRight(source[:at], " \t\r\n")
	// A function body can have neither statement, and nothing else is refused at these places; nor can escapes hide the word.
	switch {
	case unescape(wordAt(source[at:])) == "import":
		t.Module = "import"
	case strings.HasPrefix(source[at:], "export"):
		t.Module = "an export statement"
	case endsWithWord(before, "import"):
		t.Module = "an import statement"
		t.Line, t.Column = placeOf(source, len(before)-len("import"))
	}
	return t
}

// wordAt is the identifier that a text begins with, as it is spelled, or nothing.
func wordAt(text string) []byte {
	return []byte(text[:len(text)-len(strings.TrimLeftFunc(text, func(r rune) bool {
		return r < utf8.RuneSelf && (isWordByte(byte(r)) || strings.ContainsRune(`_$\{}`, r))
	}))])
}

// offsetOf is where a line's column, in bytes from 0, lies in the source, or its end if it has no such line. Lines end as
// parsers count them: by ECMAScript, also at a lone carriage return and at the separators of Unicode.
func offsetOf(source string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		end := strings.IndexAny(source[at:], "\n\r\u2028\u2029")
		if end < 0 {
			return len(source)
		}
		at += end
		_, size := utf8.DecodeRuneInString(source[at:])
		if strings.HasPrefix(source[at:], "\r\n") {
			size = 2
		}
		at += size
	}
	return min(at+column, len(source))
}

func endsWithWord(text, word string) bool {
	rest, ok := strings.CutSuffix(text, word)
	if !ok {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(rest)
	return rest == "" || !strings.ContainsRune("_$.", last) && last < utf8.RuneSelf && !isWordByte(byte(last))
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// utf16Length is the length of a text in the units that columns count.
func utf16Length(text string) (n int) {
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
