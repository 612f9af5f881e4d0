package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestReal_P2_ProgressIsToldWhileAToolRuns watches a public server's slow tool from another process.
func TestReal_P2_ProgressIsToldWhileAToolRuns(t *testing.T) {
	t.Parallel()
	file := config(t, servers{"everything": stdio(t, everythingServer)})
	host := start(t, codecell(t, "up", "--config", file, "--listen", "127.0.0.1:0"))
	_, url, _ := strings.Cut(host.line("ready: "), "bus at ")
	tail := start(t, codecell(t, "tail", "--bus", url, "call.progressed", "call.ended"))
	if !eventually(patience, func() bool { return strings.Contains(tail.stderr.String(), "listening") }) {
		t.Fatal("tail doesn't listen")
	}
	got, code := execute(t, `return (await MCP.everything.triggerLongRunningOperation({ duration: 4, steps: 4 })).isError ?? false`, "--bus", url)
	if code != 0 || string(got.Value) != "false" {
		t.Fatalf("exit code %d, %+v", code, got)
	}
	for step := range 4 {
		tail.line(fmt.Sprintf("#1 %d of 4", step+1))
	}
	tail.line("#1 done")
}

// TestReal_DryRun: the tools of a public server are answered for, in their native form, and not called.
func TestReal_DryRun(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := config(t, servers{"everything": stdio(t, everythingServer), "files": stdio(t, filesystemServer, data)})
	got, code := execute(t, `
		const { content } = await MCP.files.writeFile({ path: "`+data+`/new", content: "x" });
		const weather = (await MCP.everything.getStructuredContent({ location: "Chicago" })).structuredContent;
		let wrong; try { await MCP.files.writeFile({ path: 7 }) } catch (error) { wrong = error.code }
		return [content[0].text, typeof weather.temperature, typeof weather.conditions, wrong, (await MCP.everything.resources.list()).resources.length]`,
		"--config", file, "--dry-run")
	want := `["placeholder: MCP.files.writeFile was not called (dry run)","number","string","input_contract",1]`
	if code != 0 || string(got.Value) != want || got.DryRun == nil || len(got.DryRun.Calls) != 4 {
		t.Errorf("exit code %d, %s %s\nwant %s\n%+v", code, got.Value, got.Error, want, got.DryRun)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
		t.Errorf("the dry run wrote %v, %v", entries, err)
	}
}
