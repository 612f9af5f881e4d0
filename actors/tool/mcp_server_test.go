package tool

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"strings"
	"sync"
	"syscall"
)

// serverKindEnv makes the test binary an MCP server on stdio that behaves as its value says.
const serverKindEnv = "CODECELL_TEST_MCP_SERVER"

// pidFileEnv names a file that the server writes its own and its children's ids to.
const pidFileEnv = "CODECELL_TEST_PID_FILE"

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    *string         `json:"cursor"`
		URI       string          `json:"uri"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// testServer speaks the protocol by hand, so that it can break every rule of it.
type testServer struct {
	kind  string
	mu    sync.Mutex
	tools []string
	goOn  chan struct{}
}

func runTestServer(kind string) int {
	s := &testServer{kind: kind, tools: goodTools, goOn: make(chan struct{})}
	switch kind {
	case "exits":
		fmt.Fprintln(os.Stderr, "cannot find\n\tthe database")
		return 3
	case "banner":
		fmt.Fprintln(os.Stdout, "Welcome to the server!\n{not json\n[]")
		s.tools = goodTools
	case "stubborn":
		ossignal.Ignore(syscall.SIGTERM)
		child := exec.CommandContext(context.Background(), "sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(os.Getenv(pidFileEnv), fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600); err != nil {
			panic(err)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m rpc
		if json.Unmarshal(in.Bytes(), &m) == nil {
			go s.handle(m)
		}
	}
	if kind == "stubborn" {
		select {}
	}
	return 0
}

func (s *testServer) send(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func (s *testServer) reply(m rpc, result string) {
	s.send(`{"result":%s,"jsonrpc":"2.0","id":%s}`, result, m.ID)
}

func toolEntry(name, extra string) string {
	return fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}%s}`, name, name, extra)
}

var goodTools = []string{
	toolEntry("echo", ""), toolEntry("digits", ""), toolEntry("fails", ""), toolEntry("nulls", ""),
	toolEntry("text_only", `,"outputSchema":{"type":"object","required":["n"]}`),
	toolEntry("violates", `,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
	toolEntry("broken", `,"outputSchema":{"type":7}`),
	`{"name":"strict","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer","default":3}},"required":["path"],"additionalProperties":false}}`,
	toolEntry("slow", ""), toolEntry("go_on", ""), toolEntry("never", ""), toolEntry("progress", ""), toolEntry("dies", ""), toolEntry("huge", ""),
	toolEntry("rpc_error", ""), toolEntry("hologram", ""), toolEntry("env", ""), toolEntry("add", ""), toolEntry("pid", ""),
}

func (s *testServer) handle(m rpc) {
	if s.kind == "mute" {
		return
	}
	switch m.Method {
	case "initialize":
		version := protocolVersion
		if s.kind == "version" {
			version = "1999-01-01"
		}
		s.reply(m, `{"protocolVersion":"`+version+`","capabilities":`+s.capabilities()+`,"serverInfo":{"name":"test","version":"0.1"},"instructions":"be kind"}`)
	case "tools/list":
		s.list(m)
	case "tools/call":
		s.call(m)
	case "resources/list", "prompts/list":
		s.listOther(m)
	case "resources/read":
		s.readResource(m)
	case "prompts/get":
		s.getPrompt(m)
	}
}

func (s *testServer) list(m rpc) {
	page := func(name, next string) { s.reply(m, `{"tools":[`+toolEntry(name, "")+`]`+next+`}`) }
	cursor := "none"
	if m.Params.Cursor != nil {
		cursor = "[" + *m.Params.Cursor + "]"
	}
	switch s.kind {
	case "same-cursor":
		page("a", `,"nextCursor":"same"`)
	case "cycle":
		switch cursor {
		case "none":
			page("a", `,"nextCursor":"x"`)
		case "[x]":
			page("b", `,"nextCursor":"y"`)
		default:
			page("c", `,"nextCursor":"x"`)
		}
	case "empty-cursor":
		switch cursor {
		case "none":
			page("first", `,"nextCursor":""`)
		case "[]":
			page("second", `,"nextCursor":null`)
		default:
			page("wrong", "")
		}
	case "pages":
		n := m.page()
		page(fmt.Sprint("t", n), fmt.Sprintf(`,"nextCursor":"%d"`, n+1))
	case "list-hangs":
	case "bad-tools":
		s.reply(m, `{"tools":[`+strings.Join([]string{
			toolEntry("good", ""), toolEntry("good", ""), toolEntry(strings.Repeat("n", 200), ""), toolEntry("", ""),
			`{"name":7}`, `{"name":"\u0000"}`, `{"name":"no_schema"}`, toolEntry("naïve name/with:all", ""),
		}, ",")+`]}`)
	default:
		s.mu.Lock()
		all := strings.Join(s.tools, ",")
		s.mu.Unlock()
		s.reply(m, `{"tools":[`+all+`]}`)
	}
}

func (s *testServer) call(m rpc) {
	text := func(t string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, t) }
	switch m.Params.Name {
	case "echo", "strict":
		s.reply(m, `{"content":[],"structuredContent":`+string(m.Params.Arguments)+`}`)
	case "digits":
		s.reply(m, `{"content":[{"type":"text","text":"<b>"}],"structuredContent":{"id":12345678901234567890,"x":1.10,"z":1e3}}`)
	case "fails":
		s.reply(m, `{"content":[{"type":"text","text":"no"}],"structuredContent":{"why":"because"},"isError":true}`)
	case "nulls":
		s.reply(m, `{"_meta":{"a":1},"content":[{"type":"text","text":"Error: not really","_meta":{"b":2},"annotations":{"priority":1}}],"structuredContent":null,"isError":false,"extra":5}`)
	case "text_only":
		s.reply(m, text("plain"))
	case "violates":
		s.reply(m, `{"content":[],"structuredContent":{"n":"SECRET"}}`)
	case "slow":
		<-s.goOn // after the timeout of its callers
		s.reply(m, text("late"))
	case "go_on":
		s.goOn <- struct{}{}
		s.reply(m, text("ok"))
	case "never": // but for a word that it has begun
		s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.Params.Meta.Token)
	case "progress":
		for i := 1; i <= 3; i++ {
			s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"step %d"}}`, m.Params.Meta.Token, i, i)
		}
		s.reply(m, text("done"))
	case "dies":
		fmt.Fprintln(os.Stderr, "fatal: out of cheese")
		os.Exit(7)
	case "huge":
		s.reply(m, text(strings.Repeat("x", 50<<20)))
	case "rpc_error":
		s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such city"}}`, m.ID)
	case "hologram":
		s.reply(m, `{"content":[{"type":"hologram","depth":3}]}`)
	case "env":
		s.reply(m, text(strings.Join(os.Environ(), "\n")))
	case "pid":
		s.reply(m, text(fmt.Sprint(os.Getpid())))
	case "add":
		s.mu.Lock()
		s.tools = append(s.tools[1:len(s.tools):len(s.tools)], toolEntry("added", ""))
		s.mu.Unlock()
		s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.reply(m, text("ok"))
	}
}
