package run

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_X4_RefusesShellText(t *testing.T) {
	for _, source := range []string{
		"pwd", "ls", "ls -la", "  ls -la\n", "git status", "git log --oneline -5", "cd /tmp && ls", "cd ..", "npm install", "echo hi",
		"echo \"hi\" > a.txt", "cat a.txt | grep x", "ls | head", "ls > out.txt", "ls *", "ls .", "find . -name '*.go'", "$ ls -la",
		"#!/bin/sh\nls", "#!/usr/bin/env node\nreturn 1", "# list the files\nls", "./run.sh", "./run.sh --fast", "~/bin/x y", "/usr/bin/env python3",
		"cd src\ngrep -rn TODO .", "pwd; ls", "python3 -c 'print(1)'", "node index.js", "node -v", "rm -rf build", "curl https://example.com", "mkdir -p a/b",
		"export FOO=bar", "export PATH=$PATH:/x && make", "FOO=1 make test", "A=1 B='x' node x.js", "for f in *.txt; do echo $f; done",
		"for f in $(ls)\ndo\n  cat $f\ndone", "if [ -f x ]; then echo y; fi", "while read l; do echo $l; done < x", "test -f a && echo b",
		"exit 1", "exit", "set -e\nls", "set -euo pipefail\ncd x", "chmod +x run.sh", "date +%s", "time ls", "nohup x &", "sleep 5; ls",
		"!ls -la", "source .env", "dir", "timeout 5 ls",
	} {
		err := reachCurrent.checkSource(source)
		if err == nil {
			t.Errorf("accepted %q", source)
			continue
		}
		if err.Code != schemas.InvalidInput || err.Field != "code" || !strings.Contains(err.Message, "catalog.search") {
			t.Errorf("%q: %+v", source, err)
		}
	}
}

func TestSpec_X4_AcceptsProgramsThatLookAlike(t *testing.T) {
	for _, source := range []string{
		"node -1; var node = 7; return node", "ls -la; var ls, la", "let git = 1; git", "ls({path: '.'})", "await ls({})", "find ({pattern: '*'})", "echo = 5",
		"date ++; var date", "cat\n`x`", "return ls - la", "const pwd = 1\nreturn pwd", "ls; return 1", "node => node", "node ? 1 : f()",
		"sort (a)", "go: for (;;) break go", "/bin/.test('x')", "// ls -la\nreturn 1", "/* sh */ return 2", "'use strict'\nls", "git`status`", "lsx -la",
		"env.x = 1", "grep ?? await f()", "head = tail", "make\n(1)", "file in {}, f()", "$ = 1", "let q = ;", "files and folders",
		"FOO = 1; make (FOO)", "a=1; ls()", "for (const f in {}) ; do {} while (0)", "for await (const x of []) { x(); do {} while (0) }",
		"if (a) { b() }", "while (i < 3) i++", "const test = f => f; test (x => x)",
		"test\n(1)", "set = new Set()", "time * 2 > f()", "!ready && f()", "exit ?? f()", "date +f()", "let time = 1; time +1",
	} {
		if err := reachCurrent.checkSource(source); err != nil {
			t.Errorf("refused %q: %v", source, err)
		}
	}
}

// What a model reads names what its programs have, and nothing else.
func TestSpec_X4_ShellTextNamesWhatProgramsHave(t *testing.T) {
	search := schemas.Surface{Search: schemas.ToolSearchCode}
	for _, c := range []struct {
		admission Admission
		contract  string
		find      string
		call      string
	}{
		{Admission{}, "", " catalog.search(query)", "await hit({"},
		{Admission{}, schemas.ContractCurrent, " catalog.search(query)", "await hit({"},
		{Admission{}, schemas.Contract202607, " tools.search(query)", "await tools.call(id, {"},
		{Admission{Surface: search}, "", " openclaw.tools.search(query)", "await openclaw.tools.call(id, {"},
		{Admission{Surface: search}, schemas.Contract202607, " openclaw.tools.search(query)", "await openclaw.tools.call(id, {"},
	} {
		for _, language := range []string{"", schemas.LanguageJavaScript, schemas.LanguageTypeScript} {
			err := c.admission.reach(c.contract).checkProgram(schemas.ExecInput{Code: "ls -la", Language: language})
			if err == nil || !strings.Contains(err.Message, c.find) || !strings.Contains(err.Message, c.call) {
				t.Errorf("contract %q, language %q: %v", c.contract, language, err)
			}
		}
	}
}
