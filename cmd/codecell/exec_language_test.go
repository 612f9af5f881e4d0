package main

import (
	"path/filepath"
	"testing"
)

// TestSpec_J1_ExecTypeScript: on a host of the older contract a file's name says that it is TypeScript, and so does a flag.
func TestSpec_J1_ExecTypeScript(t *testing.T) {
	older := write(t, "codecell.json5", `{contract: "2026-07"}`)
	source := write(t, "program.ts", "interface A { n: number }\nconst a: A = { n: 40 }\nreturn a.n + 2")
	cli{}.do(t, "exec", "--config", older, source).want(t, exitCompleted, "42")
	cli{}.do(t, "exec", "--config", older, "--language", "javascript", source).want(t, exitFailed, `language: "typescript"`)
	cli{}.do(t, "exec", "--config", older, program(t, `return typeof tools.call`)).want(t, exitCompleted, "function")
	cli{}.do(t, "exec", "--config", older, "--restart-safe", source).want(t, exitFailed, "restartSafe: remove this field")
	cli{}.do(t, "exec", source).want(t, exitFailed, "language: remove this field")
}

// TestSpec_G11_ConfigCheckLooksForFolders: a folder of skills that isn't there is found before anything starts.
func TestSpec_G11_ConfigCheckLooksForFolders(t *testing.T) {
	path := write(t, "codecell.json5", `{skills: {folders: [".", "nowhere"]}}`)
	cli{}.do(t, "config", "check", path).want(t, exitUsage, "skills.folders[1]: "+filepath.Join(filepath.Dir(path), "nowhere")+" is not a folder")
}
