package tool

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// realServer gives the configuration of a server from npm, as a user would write it. The
// servers are put in place by `make setup`.
func realServer(t testing.TB, pkg string, args ...string) schemas.MCPServer {
	t.Helper()
	modules, err := filepath.Abs("../../e2e/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(modules, "@modelcontextprotocol", pkg, "dist", "index.js")
	if _, err := os.Stat(entry); err != nil {
		t.Skipf("%s is not installed: run `make setup`", pkg)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		if node = filepath.Join(modules, ".bin", "node"); exec.CommandContext(t.Context(), node, "--version").Run() != nil {
			t.Skip("there is no node: run `make setup`")
		}
	}
	return schemas.MCPServer{Command: node, Args: append([]string{entry}, args...)}
}

func TestSpec_M7_RealFilesystemServer(t *testing.T) {
	dir := folder(t, map[string]string{"hello.txt": "hello\nworld\n"})
	s := connected(t, realServer(t, "server-filesystem", dir))
	if p := s.Offer().Problems; len(p) > 0 || !slices.Contains(toolNames(s.Offer()), "read_text_file") {
		t.Fatalf("%q %q", toolNames(s.Offer()), p)
	}
	if _, problems := compileOffer(s.Offer(), nil); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	got, err := through(t, s, "read_text_file", `{"path":"`+filepath.Join(dir, "hello.txt")+`"}`)
	if err != nil || !strings.Contains(string(got), `"structuredContent":{"content":"hello\nworld\n"}`) {
		t.Errorf("%s %v", got, err)
	}
	got, err = through(t, s, "read_text_file", `{"path":"/etc/passwd"}`)
	if err != nil || !strings.Contains(string(got), `"isError":true`) {
		t.Errorf("%s %v", got, err)
	}
	if _, err = through(t, s, "read_text_file", `{}`); err == nil || err.Code != schemas.CallInputContract {
		t.Errorf("%v", err)
	}
}

func TestSpec_M7_RealEverythingServer(t *testing.T) {
	s := connected(t, realServer(t, "server-everything", "stdio"))
	offer := s.Offer()
	if len(offer.Tools) < 5 || !slices.Contains(toolNames(offer), "echo") || !offer.Server.Resources || !offer.Server.Prompts {
		t.Fatalf("%q %q %+v", toolNames(offer), offer.Problems, offer.Server)
	}
	if _, problems := compileOffer(offer, nil); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	got, err := through(t, s, "echo", `{"message":"<é>"}`)
	if err != nil || !strings.Contains(string(got), "<é>") {
		t.Errorf("%s %v", got, err)
	}
}

func TestSpec_M3_RealEverythingServer(t *testing.T) {
	s := connected(t, realServer(t, "server-everything", "stdio"))
	for _, c := range []struct{ name, args, want string }{
		{schemas.ListResources, `{}`, `"uri":"demo://resource/static/`},
		{schemas.ListPrompts, `{}`, `"name":"args-prompt"`},
		{schemas.GetPrompt, `{"name":"args-prompt","arguments":{"city":"Paris"}}`, `"role":"user"`},
	} {
		got, err := through(t, s, c.name, c.args)
		if err != nil || !strings.Contains(string(got), c.want) || strings.Contains(string(got), `"incomplete"`) {
			t.Errorf("%s: %.300s %v", c.name, got, err)
		}
	}
	uri := decode[struct{ Resources []struct{ URI string } }](t, must(t, s, schemas.ListResources, `{}`)).Resources[0].URI
	if got := must(t, s, schemas.ReadResource, `{"uri":"`+uri+`"}`); !strings.Contains(string(got), `{"contents":[{"uri":"`+uri+`"`) {
		t.Errorf("%.300s", got)
	}
}

// must runs a call that has to succeed.
func must(t testing.TB, s *Server, name, args string) schemas.JSON {
	t.Helper()
	got, err := through(t, s, name, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}
