package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// elsewhere are commands of the documents that CI runs → the line of .ci/run that does.
var elsewhere = map[string]string{
	"make build": "make run",
	"make test":  "make test",
	"make check": "make check",
}

// standIns are what a test types instead: what make does once all is built, which CI does in full.
var standIns = map[string]string{
	"make help": "make -C ../codecell help",
	"make run":  "CODECELL_BINARY=$(command -v codecell) ../codecell/examples/main-job.sh",
}

// TestReal_DocsCommands types the commands of the console blocks of each document, in their order, in a folder that has
// codecell.json5 with two public servers, data/, and report.js. Commands that serve run in a terminal of their own until
// the document ends. What stands below a command is what it must print:
//   - … stands for any text, and on a line of its own for any lines;
//   - ids, times, durations and sizes are examples: others may stand there, and later commands use those;
//   - so are the ports, and the answers of the provider are a script's;
//   - a command without output may print anything.
//
// A command may fail only if the next one is `echo $?`.
func TestReal_DocsCommands(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		blocks := fences(t, name, "console")
		if len(blocks) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t, name)
			for i := range blocks {
				for _, step := range steps(t, &blocks[i]) {
					if !s.do(t, step) {
						return
					}
				}
			}
			s.end(t)
		})
	}
}

// step is one command of a console block.
type step struct {
	at      string
	command string
	want    []string
}

func steps(t *testing.T, f *fence) (all []step) {
	t.Helper()
	for i, line := range f.lines {
		at := fmt.Sprintf("%s:%d", f.file, f.line+i)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			command, _, _ = strings.Cut(command, "  #")
			all = append(all, step{at: at, command: strings.TrimSpace(command)})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("%s: a console block begins with a command", at)
		}
		last := &all[len(all)-1]
		last.want = append(last.want, line)
	}
	return all
}

// shell is a reader who types.
type shell struct {
	dir     string // where the document begins
	state   string // a script that restores variables, folder and exit code
	env     []string
	ports   map[string]string // of the document → of this test
	ids     map[string]string
	shorts  *strings.Replacer // what timelines show of the document's ids → their pattern
	model   string            // the URL of the stand-in for the documents' provider, once it is asked
	failed  string            // the last command, if it failed
	serving []*server
}

// server is a command in a terminal of its own.
type server struct {
	step
	process *process
	printed bytes.Buffer
}

func newShell(t *testing.T, document string) *shell {
	t.Helper()
	top := t.TempDir()
	s := &shell{dir: filepath.Join(top, "mine"), state: filepath.Join(top, "state"), ports: map[string]string{}, ids: map[string]string{}}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err == nil {
		err = os.Symlink(root, filepath.Join(top, "codecell"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var shorts []string
	for _, id := range runID.FindAllString(readDocument(t, document), -1) {
		if _, secret, ok := strings.Cut(id, "-"); ok {
			shorts = append(shorts, secret[:6], `[a-z2-7]{6}`)
		}
	}
	s.shorts = strings.NewReplacer(shorts...)
	docsConfig(t, s.dir)
	for _, js := range fences(t, "docs/agents.md", "js")[:1] {
		writeFile(t, filepath.Join(s.dir, "report.js"), js.text())
	}
	for _, f := range fences(t, document, "go") {
		if strings.HasPrefix(f.text(), "package main\n") {
			writeFile(t, filepath.Join(s.dir, "main.go"), f.text())
		}
	}
	writeFile(t, s.state, "cd "+strconv.Quote(s.dir)+"\n")
	path := filepath.Dir(binary(t)) + string(os.PathListSeparator) + filepath.Dir(node(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	s.env = append(cleanEnv(t), "PATH="+path, "XDG_CACHE_HOME="+filepath.Join(scratch, "cache"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, name+"="+strings.TrimSpace(string(value)))
	}
	return s
}

var (
	serves = regexp.MustCompile(`^codecell (up|executor|mcp|node|tail)\b|` + behind.String())
	// behind are commands that run on while the reader types others. What stands below them is what they print in the end.
	behind = regexp.MustCompile(` &$`)
	// lists are commands that show what comes about meanwhile: a reader types them again.
	lists = regexp.MustCompile(`^codecell (approvals ls|session ls|session show|slots|tools|nodes ls)\b`)
)

// do types one command, and reports whether it is worth going on.
func (s *shell) do(t *testing.T, next step) bool {
	t.Helper()
	if line, ok := elsewhere[next.command]; ok {
		checkCI(t, next, line)
		return true
	}
	if s.failed != "" && next.command != "echo $?" {
		t.Errorf("%s: %s failed", next.at, s.failed)
		return false
	}
	s.failed = ""
	if serves.MatchString(next.command) {
		return s.serve(t, next)
	}
	if lists.MatchString(next.command) {
		eventually(patience, func() bool {
			out, _ := exec.Command("bash", "-c", fmt.Sprintf(". %q; %s", s.state, s.real(t, next.command))).CombinedOutput() //nolint:noctx // quick
			return s.matches(next.want, string(out), true)
		})
	}
	script := fmt.Sprintf(`. %[1]q; %[2]s
code=$?; { export -p; printf 'cd %%q\n(exit %%d)\n' "$PWD" $code; } >%[1]q; exit $code`, s.state, s.real(t, next.command))
	cmd := exec.Command("bash", "-c", script) //nolint:noctx // bounded below; one compiles a program
	cmd.Env = s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(5*patience, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer overdue.Stop()
	err := cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	if err != nil {
		s.failed = fmt.Sprintf("%s: %s: %v\n%s", next.at, next.command, err, printed.String())
	}
	if !s.matches(next.want, printed.String(), true) {
		t.Errorf("%s: %s printed\n%s", next.at, next.command, printed.String())
		return false
	}
	return true
}

// serve starts a command in a terminal of its own, and waits until it has printed what stands below it. What tail shows
// comes later.
func (s *shell) serve(t *testing.T, next step) bool {
	t.Helper()
	script := fmt.Sprintf(". %q; exec %s 2>&1", s.state, behind.ReplaceAllString(s.real(t, next.command), ""))
	v := &server{step: next, process: start(t, command{path: "bash", args: []string{"-c", script}, env: s.env})}
	s.serving = append(s.serving, v)
	want := next.want
	switch {
	case behind.MatchString(next.command):
		want = nil
	case strings.HasPrefix(next.command, "codecell tail"):
		want = next.want[:min(1, len(next.want))]
	}
	return s.await(t, v, want)
}

// await waits until a server has printed something.
func (s *shell) await(t *testing.T, v *server, want []string) bool {
	t.Helper()
	for over := time.After(patience); !s.matches(want, v.printed.String(), false); {
		select {
		case line, ok := <-v.process.lines:
			if !ok {
				t.Errorf("%s: %s ended and had printed\n%s", v.at, v.command, v.printed.String())
				return false
			}
			v.printed.WriteString(line + "\n")
		case <-over:
			t.Errorf("%s: %s printed\n%s", v.at, v.command, v.printed.String())
			return false
		}
	}
	return true
}

// end ends what serves, in the opposite order, and checks what it has printed.
func (s *shell) end(t *testing.T) {
	t.Helper()
	if s.failed != "" {
		t.Error(s.failed)
	}
	for _, v := range slices.Backward(s.serving) {
		for _, want := range told(v) {
			s.await(t, v, want)
		}
		_ = v.process.stdin.Close()
		v.process.stop(syscall.SIGTERM)
		if code := v.process.exitCode(); code != 0 {
			t.Errorf("%s: %s: exit code %d", v.at, v.command, code)
		}
	}
}

// idPattern is the form of runIds, of approvals, of a session's entries, and of nodes.
const idPattern = `[a-z2-7]{10}-[a-z2-7]{26}|[a-z2-7]{16}-[a-z2-7]{12}|\b[a-z2-7]{16}\b|\bU[A-Z2-7]{55}\b`

// pairingCode is the one of the documents.
const pairingCode = `k7mq-3vzn`

var (
	port   = regexp.MustCompile(`127\.0\.0\.1:(\d{4})`)
	runID  = regexp.MustCompile(idPattern)
	varied = regexp.MustCompile(strings.Join([]string{
		idPattern,
		`\b(?:host|executor) [a-z2-7]{10,16}\b`, // an id of either
		pairingCode,
		`\b\d\d:\d\d:\d\d\.\d{3}\b`,    // a time
		`\b\d+(?:\.\d+)?(?:ms|µs|s)\b`, // a duration
		`\b\d+ KiB\b`,                  // a size
		`#\d+\b`,                       // the number of a call
		`"counterScope":"[^"]*"`,
		`\bworkers \d+/\d+`, // of the machine's cores
		`…`,
	}, "|"))
)

// real puts the ports, ids and provider of this test in the place of the document's.
func (s *shell) real(t *testing.T, command string) string {
	t.Helper()
	if stand, ok := standIns[command]; ok {
		return stand
	}
	command = port.ReplaceAllStringFunc(command, func(address string) string {
		if s.ports[address] == "" {
			s.ports[address] = freeAddress(t)
		}
		return s.ports[address]
	})
	if strings.Contains(command, docsProvider) {
		if s.model == "" {
			s.model = startModel(t, docsModel...).url
		}
		command = strings.ReplaceAll(command, docsProvider, s.model)
	}
	if code := s.ids[pairingCode]; code != "" {
		command = strings.ReplaceAll(command, pairingCode, code)
	}
	return runID.ReplaceAllStringFunc(command, func(id string) string {
		if s.ids[id] == "" {
			return id
		}
		return s.ids[id]
	})
}

// matches tells whether text is what a document says, and learns the ids in it.
func (s *shell) matches(want []string, text string, whole bool) bool {
	if len(want) == 0 {
		return true
	}
	var b strings.Builder
	b.WriteString(`\A`)
	var ids []string
	for _, line := range want {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		line = port.ReplaceAllStringFunc(line, func(address string) string { return s.ports[address] })
		at := 0
		for _, m := range varied.FindAllStringIndex(line, -1) {
			b.WriteString(s.shorts.Replace(regexp.QuoteMeta(line[at:m[0]])))
			pattern, id := vary(line[m[0]:m[1]])
			b.WriteString(pattern)
			if id != "" {
				ids = append(ids, id)
			}
			at = m[1]
		}
		b.WriteString(s.shorts.Replace(regexp.QuoteMeta(line[at:])) + `[ \t]*\n`)
	}
	if whole {
		b.WriteString(`\z`)
	}
	found := regexp.MustCompile(b.String()).FindStringSubmatch(text)
	for i, id := range ids {
		if found != nil {
			s.ids[id] = found[i+1]
		}
	}
	return found != nil
}

// vary gives the pattern for an example, and the runId if it is one.
func vary(example string) (pattern, id string) {
	switch {
	case example == "…":
		return `.*`, ""
	case strings.HasPrefix(example, "host "), strings.HasPrefix(example, "executor "):
		noun, _, _ := strings.Cut(example, " ")
		return noun + ` [a-z2-7]{10,16}`, ""
	case example == pairingCode:
		return `([a-z2-7]{4}-[a-z2-7]{4})`, example
	case runID.MatchString(example):
		return `(` + idPattern + `)`, example
	case strings.HasPrefix(example, `"counterScope"`):
		return `"counterScope":"[^"]*"`, ""
	case strings.HasSuffix(example, " KiB"):
		return `\d+ KiB`, ""
	case strings.HasPrefix(example, "workers "):
		return `workers \d+/\d+`, ""
	case strings.HasPrefix(example, "#"):
		return `#\d+`, ""
	case strings.Contains(example, ":"):
		return `\d\d:\d\d:\d\d\.\d{3}`, ""
	}
	return `\d+(?:\.\d+)?(?:ms|µs|s)`, ""
}

// checkCI looks whether CI runs a command.
func checkCI(t *testing.T, s step, line string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", ".ci", "run"))
	if err != nil || !bytes.Contains(text, []byte("\n"+line+"\n")) {
		t.Errorf("%s: CI doesn't run %s: .ci/run has no line %q", s.at, s.command, line)
	}
}
