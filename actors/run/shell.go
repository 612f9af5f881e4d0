package run

import (
	"regexp"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/codecell/codecell/schemas"
)

// reach is how the programs of a run get at tools, for what a model reads when it sent a shell command (X4).
type reach struct{ tool, search, call string }

// The profiles of guests.
var (
	reachCurrent = reach{
		schemas.ExecTool, "catalog.search(query)", `each hit is an async function that takes one object: await hit({ path: "notes.txt" })`,
	}
	reach202607 = reach{
		schemas.ExecTool, "tools.search(query)", `await tools.call(id, { path: "notes.txt" }) calls one`,
	}
	reachSearch = reach{
		schemas.ToolSearchCodeTool, "openclaw.tools.search(query)",
		`await openclaw.tools.call(id, { path: "notes.txt" }) calls one`,
	}
)

// refuseShell refuses shell text.
func (r reach) refuseShell() *schemas.Error {
	return schemas.Refuse("code", "the program is shell text, and "+r.tool+" runs JavaScript. Call tools instead: "+r.search+
		" finds them, also one that runs commands if there is one, and "+r.call+". No tools were dispatched.")
}

// commands are the first words of what models type into shells.
var commands = words(`alias apt apt-get awk basename bash brew bun cargo cat cd chmod chown clear cmp cp curl cut date deno df diff
	dir dirname docker du echo env exit expr fd file find gcc gh git go grep gzip head hostname htop java jq kill killall kubectl less
	ln ls lsof make man mkdir mktemp mv nano node nohup npm npx perl ping pip pip3 pkill pnpm poetry printf ps pwd pytest python
	python3 readlink realpath rg rm rmdir rsync ruby rustc scp sed seq set sh sleep sort source ssh stat sudo systemctl tail tar tee
	test time timeout touch tree tsc uname uniq unset unzip uptime uv vi vim wc wget which whoami xargs yarn zip zsh`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

var (
	// settings are variables that a command is given.
	settings = regexp.MustCompile(`^(?:[A-Za-z_]\w*=[^\s;]*[ \t]+)+`)
	// compound is what begins no JavaScript: conditions have parentheses there, and exports are declared.
	compound = regexp.MustCompile(`^(?:export[ \t]+[A-Za-z_]\w*=|` +
		`(?:if|while|until|for[ \t]+\w+[ \t]+in)[ \t]+[^\s(][^;\n]*[;\n]\s*(?:then|do)\b)`)
	// command is the first word of a line and what follows it on the line.
	command = regexp.MustCompile(`^(?:\$[ \t]+|!)?([a-z][a-z0-9-]*)(?:[ \t;|&]+(.*))?$`)
	// path is a program named by its path.
	path = regexp.MustCompile(`^(?:~|\.{1,2})?/\w[\w./-]*(?:\s|$)`)
	// argument is how what follows a command's name may begin. JavaScript that this parser can't read, but the
	// engine might, goes on with an operator.
	argument = regexp.MustCompile(`^(?:[\w./~$"'*|>&<+-]|$)`)
)

// checkShell refuses shell text before a guest is started (X4). Text that begins with a command is shell text if it
// is no JavaScript, or JavaScript that does nothing but name things that the program hasn't: "ls -la" is a
// subtraction. So a program that begins with a variable named node runs.
func (r reach) checkShell(source string) *schemas.Error {
	text := strings.TrimSpace(source)
	if strings.HasPrefix(text, "#") || compound.MatchString(text) { // "#" is a comment of a shell, or "#!": no program begins so
		return r.refuseShell()
	}
	first, _, _ := strings.Cut(text, "\n")
	first = strings.TrimSpace(first)
	first = first[len(settings.FindString(first)):]
	m := command.FindStringSubmatch(first)
	named := m != nil && commands[m[1]]
	if !named && !path.MatchString(first) {
		return nil
	}
	parsed, inert := readInert(text)
	switch {
	case parsed && inert, !parsed && !named, !parsed && argument.MatchString(m[2]):
		return r.refuseShell()
	}
	return nil
}

// readInert tells whether the program parses, and if so, whether it only names and combines variables of others.
func readInert(source string) (parsed, inert bool) {
	defer func() {
		if recover() != nil { // as in findModuleUse
			parsed, inert = true, false
		}
	}()
	ast, err := js.Parse(parse.NewInputString("async function program(){\n"+source+"\n}"), js.Options{})
	if err != nil {
		return false, false
	}
	f, ok := ast.List[0].(*js.FuncDecl)
	if !ok || len(ast.List) != 1 {
		return true, false
	}
	for _, statement := range f.Body.List {
		switch s := statement.(type) {
		case *js.EmptyStmt:
		case *js.ExprStmt:
			if !isInert(s.Value) {
				return true, false
			}
		default:
			return true, false
		}
	}
	return true, true
}

func isInert(x js.IExpr) bool {
	switch x := x.(type) {
	case *js.Var:
		return declared(x).Decl == js.NoDecl
	case *js.LiteralExpr:
		return true
	case *js.GroupExpr:
		return isInert(x.X)
	case *js.DotExpr:
		return isInert(x.X)
	case *js.UnaryExpr:
		return (x.Op == js.NegToken || x.Op == js.PosToken || x.Op == js.NotToken || x.Op == js.BitNotToken) && isInert(x.X)
	case *js.BinaryExpr:
		return !assigns(x.Op) && isInert(x.X) && isInert(x.Y)
	}
	return false
}

func assigns(op js.TokenType) bool {
	switch op {
	case js.EqToken, js.AddEqToken, js.SubEqToken, js.MulEqToken, js.DivEqToken, js.ModEqToken, js.ExpEqToken, js.LtLtEqToken,
		js.GtGtEqToken, js.GtGtGtEqToken, js.BitAndEqToken, js.BitOrEqToken, js.BitXorEqToken, js.AndEqToken, js.OrEqToken,
		js.NullishEqToken:
		return true
	default:
		return false
	}
}
