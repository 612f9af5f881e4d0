package run

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/codecell/codecell/schemas"
)

// modulesOff is what a model reads when its program wants a module (X3).
const modulesOff = "module access is off: a program has no import, import(), import.meta, export or require. " +
	"Files, network and processes are reached through tools, called as this tool's description says. No tools were dispatched."

// checkSource refuses shell text (X4) and a program that reaches for modules (X3), before any guest sees it.
//
// The program is parsed, never scanned: module-looking text in strings, comments, regular
// expressions, property names and methods is fine, and so are a program's own bindings
// named require. A program that has none of the words isn't parsed here at all.
//
// A program that this parser can't read is left to the engine, which is the authority on
// syntax; should it run, the guest has no module loader and no require to find.
func (r reach) checkSource(source string) *schemas.Error {
	if err := r.checkShell(source); err != nil {
		return err
	}
	return checkModules(source)
}

// checkModules is checkSource for what is known to be no shell text.
func checkModules(source string) *schemas.Error {
	if !mentionsModules(source) {
		return nil
	}
	use, err := findModuleUse(source)
	if err != nil || use == "" {
		return nil //nolint:nilerr // what can't be parsed is left to the engine, see above
	}
	return schemas.Refuse("code", "the program uses "+use+", and "+modulesOff)
}

// mentionsModules tells whether parsing is worth it: one of the words is there, or an
// escape that could spell one.
func mentionsModules(source string) bool {
	for _, word := range [...]string{"import", "export", "require", `\u`} {
		if strings.Contains(source, word) {
			return true
		}
	}
	return false
}

// findModuleUse names the first use of modules it finds, or nothing. The error says that the
// program couldn't be parsed.
func findModuleUse(source string) (use string, err error) {
	// The parser reads text that nobody vouches for; a panic in it must cost no more than its verdict.
	defer func() {
		if r := recover(); r != nil {
			use, err = "", fmt.Errorf("source parser: %v", r)
		}
	}()
	// The body of an async function on a line of its own: await and return are at home there,
	// and line numbers are off by exactly one.
	ast, err := js.Parse(parse.NewInputString("async function program(){\n"+source+"\n}"), js.Options{})
	if err != nil {
		return statementUse(source, err), nil
	}
	finder := &moduleFinder{}
	js.Walk(finder, &ast.BlockStmt)
	if finder.use != "" {
		return finder.use, nil
	}
	return freeLoader(ast.Scope.Undeclared, finder.typeofs), nil
}

// statementUse tells an import or export statement, which no function body may have, from
// other syntax errors.
func statementUse(source string, err error) string {
	var at *parse.Error
	if !errors.As(err, &at) {
		return ""
	}
	offset := offsetOfRune(source, at.Line-1, at.Column)
	switch {
	case strings.Contains(at.Message, "in import expression"), strings.Contains(at.Message, "in import.meta expression"):
		// The parser names what follows the word.
		if word := strings.LastIndex(source[:offset], "import"); word >= 0 {
			offset = word
		}
		return position("an import statement", source, offset)
	case strings.HasPrefix(at.Message, "unexpected export"):
		return position("an export statement", source, offset)
	}
	return ""
}

// position says where a use begins: its line, and its column in UTF-16 units, as all places that a model reads (X5).
func position(what, source string, offset int) string {
	line, column := placeOf(source, offset)
	return fmt.Sprintf("%s at line %d, column %d", what, line, column)
}

// placeOf is the line of an offset, and its column in UTF-16 units, both from 1. Only line feeds begin lines here.
func placeOf(source string, offset int) (line, column int) {
	before := source[:offset]
	return 1 + strings.Count(before, "\n"), 1 + utf16Length(before[strings.LastIndexByte(before, '\n')+1:])
}

// offsetOfRune is where a line's column, in characters from 1, lies in the source.
func offsetOfRune(source string, line, column int) int {
	at := offsetOf(source, line, 0)
	for ; column > 1 && at < len(source); column-- {
		_, size := utf8.DecodeRuneInString(source[at:])
		at += size
	}
	return at
}

// freeLoader finds a reference to require, however spelled, that no binding of the program covers, or an import that
// escapes hide. typeof require asks whether it exists and loads nothing, so it may.
func freeLoader(undeclared js.VarArray, typeofs map[*js.Var]int) string {
	for _, v := range undeclared {
		switch unescape(v.Data) {
		case "import":
			return "import"
		case "require":
			if int(v.Uses) > typeofs[v] {
				return "require"
			}
		}
	}
	return ""
}

// moduleFinder looks for dynamic imports, import.meta and module statements.
type moduleFinder struct {
	use     string
	typeofs map[*js.Var]int
}

func (f *moduleFinder) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.ImportStmt:
		f.use = "an import statement"
	case *js.ExportStmt:
		f.use = "an export statement"
	case *js.ImportMetaExpr:
		f.use = "import.meta"
	case *js.CallExpr:
		if x, ok := n.X.(*js.LiteralExpr); ok && x.TokenType == js.ImportToken {
			f.use = "import()"
		}
	case *js.UnaryExpr:
		if v, ok := ungroup(n.X).(*js.Var); ok && n.Op == js.TypeofToken {
			if f.typeofs == nil {
				f.typeofs = map[*js.Var]int{}
			}
			f.typeofs[declared(v)]++
		}
	}
	if f.use != "" {
		return nil
	}
	return f
}

func (f *moduleFinder) Exit(js.INode) {}

func ungroup(x js.IExpr) js.IExpr {
	for {
		g, ok := x.(*js.GroupExpr)
		if !ok {
			return x
		}
		x = g.X
	}
}

func declared(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

// unescape reads the unicode escapes of an identifier.
func unescape(name []byte) string {
	if !bytes.Contains(name, []byte(`\u`)) {
		return string(name)
	}
	var out []byte
	for len(name) > 0 {
		rest, ok := bytes.CutPrefix(name, []byte(`\u`))
		if !ok {
			out, name = append(out, name[0]), name[1:]
			continue
		}
		digits, after := rest, []byte(nil)
		if braced, ok := bytes.CutPrefix(rest, []byte("{")); ok {
			if digits, after, ok = bytes.Cut(braced, []byte("}")); !ok {
				return string(out)
			}
		} else if len(rest) >= 4 {
			digits, after = rest[:4], rest[4:]
		}
		r, err := strconv.ParseUint(string(digits), 16, 32)
		if err != nil {
			return string(out)
		}
		out, name = utf8.AppendRune(out, rune(r)), after
	}
	return string(out)
}
