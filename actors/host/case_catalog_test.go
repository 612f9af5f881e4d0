package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

// named is a tool that gives back its own name.
func named(name string) tool.Func {
	return tool.Raw(schemas.Tool{Name: name, Description: "Gives back its own name."}, func(context.Context, schemas.JSON) (schemas.JSON, error) {
		return json.Marshal(name)
	})
}

// Case 45: whatever a tool is called, one global is it, before and after a park, and nothing of the guest's own is in its place.
func TestSpec_C4_Case45_AnyNameIsCallable(t *testing.T) {
	var tools []tool.Func
	for _, name := range []string{
		"llm-task", "llm_task", "catalog", "class", "9lives", "__codecell_call", "tool___codecell_call", "toString", "__proto__", "constructor",
		"hasOwnProperty", "then", "await", "MCP", "store", "text", "JSON", "🚀", "🛸", strings.Repeat("n", 128),
	} {
		tools = append(tools, named(name))
	}
	n := node(t, nil, tools...)
	first := exec(t, open(t, n, "a"), `
		const test = async () => {
			const odd = [];
			for (const tool of catalog.all()) {
				if (tool.toolName === "echo" || tool.toolName === "boom") continue;
				const global = globalThis[tool.callableName];
				if (typeof global !== "function" || await global({}) !== tool.toolName || await tool({}) !== tool.toolName) odd.push(tool.callableName);
				if (!API.read(tool.apiPath).content.includes("function " + tool.callableName + "(")) odd.push(tool.apiPath);
				if ((await catalog.search(tool.callableName, { limit: 1 }))[0].toolName !== tool.toolName) odd.push("search " + tool.callableName);
			}
			return odd;
		};
		const before = await test();
		await yield_control();
		return [before, await test(), await llm_task({}), catalog.all().length, String({}), ({}).constructor === Object, typeof JSON.parse]`)
	mustWait(t, first, schemas.ReasonYield)
	mustComplete(t, wait(t, n, "a", "w", first.RunID), `[[],[],"llm_task",22,"[object Object]",true,"function"]`)
}

// Case 47: names that differ in case only are different tools, as globals, by handle and by search.
func TestSpec_C4_Case47_CaseTellsToolsApart(t *testing.T) {
	n := node(t, nil, named("getUser"), named("GetUser"), named("getuser"))
	mustComplete(t, exec(t, open(t, n, "a"), `
		const byHandle = [];
		for (const name of ["getUser", "GetUser", "getuser"]) byHandle.push(await (await catalog.search(name, { limit: 1 }))[0]({}));
		return [await getUser({}), await GetUser({}), await getuser({}), ...byHandle]`),
		`["getUser","GetUser","getuser","getUser","GetUser","getuser"]`)
}

// Case 51: of a search in a program.
func TestSpec_C5_Case51_SearchIsBounded(t *testing.T) {
	tools := []tool.Func{tool.Raw(schemas.Tool{Name: "t0", Description: "t", Label: strings.Repeat("l", 20_000)}, func(context.Context, schemas.JSON) (schemas.JSON, error) {
		return nil, nil
	})}
	for i := 1; i < 5; i++ {
		tools = append(tools, tool.Raw(schemas.Tool{Name: fmt.Sprintf("t%d", i), Description: "t"}, func(context.Context, schemas.JSON) (schemas.JSON, error) {
			return nil, nil
		}))
	}
	n := node(t, config(t, `{tools: {codeMode: {enabled: true, maxSearchLimit: 3}}}`), tools...)
	mustComplete(t, exec(t, open(t, n, "a"), `
		const found = await catalog.search("t", { limit: 50 });
		const [labelled] = await catalog.search("t0");
		return [found.length, (await catalog.search("t")).length, await catalog.search("  "), await catalog.search("\ud83d"),
			labelled.label.length, (await catalog.search("t".repeat(1000000))).length]`),
		`[3,3,[],[],128,0]`)
}

// Case 52: what policy takes away is nowhere, and a call of it says what a call of nothing would.
func TestSpec_L4_Case52_DeniedToolsAreNowhere(t *testing.T) {
	n := node(t, config(t, `{tools: {codeMode: true, deny: ["secret", "hidden_*"]}}`), named("secret"), named("secrets"), named("hidden_one"))
	run := open(t, n, "a")
	mustComplete(t, exec(t, run, `
		const found = [];
		for (const query of ["secret", "hidden_one", "hidden", "gives back its own name"]) found.push(...(await catalog.search(query)).map((t) => t.toolName));
		return [[...new Set(found)], typeof secret, typeof hidden_one, catalog.all().map((t) => t.toolName).sort(), API.list("tools/").files.length]`),
		`[["secrets","echo"],"undefined","undefined",["boom","echo","secrets"],3]`)
	for _, name := range []string{"secret", "hidden_one", "nothing_at_all"} {
		result := exec(t, run, name+`({})`)
		mustFail(t, result, schemas.InternalError, "ReferenceError: "+name+" is not defined")
	}
}

// toolServer is an MCP server of some tools, which gives back the arguments that it gets, as they came.
type toolServer struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
}

func serveTools(t *testing.T, tools string) *toolServer {
	t.Helper()
	s := &toolServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		switch {
		case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case len(m.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			result = `{"tools":` + tools + `}`
		case "tools/call":
			s.mu.Lock()
			s.calls = append(s.calls, m.Params.Name)
			s.mu.Unlock()
			text, _ := json.Marshal(m.Params.Name + string(m.Params.Arguments))
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *toolServer) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, " ")
}

// Case 57: reserved words are callable under a number, and servers that are off rename nobody.
func TestSpec_M1_Case57_ReservedWordsAndServersThatAreOff(t *testing.T) {
	s := serveTools(t, `[{"name":"delete","inputSchema":{}},{"name":"enum","inputSchema":{}},{"name":"prototype","inputSchema":{}},{"name":"then","inputSchema":{}}]`)
	n := node(t, config(t, fmt.Sprintf(`{mcpServers: {constructor: {url: %[1]q}, "a-b": {url: %[1]q, disabled: true}, a_b: {url: %[1]q}}}`, s.URL)))
	mustComplete(t, exec(t, open(t, n, "a"), `
		const text = async (call) => (await call).content[0].text;
		const [server] = Object.keys(MCP).filter((name) => name.startsWith("a"));
		return [Object.keys(MCP), await text(MCP.constructor2.delete2({})), await text(MCP.constructor2.enum2({})), await text(MCP.constructor2.prototype2({ a: 1 })),
			await text(MCP[server].delete2({})), typeof (await MCP[server]), await text((await catalog.search("MCP.constructor2.delete2"))[0]({}))]`),
		`[["aB","constructor2"],"delete{}","enum{}","prototype{\"a\":1}","delete{}","object","delete{}"]`)
}

// Case 59: members of prototypes satisfy nothing, and nothing that wasn't published can be reached by a path.
func TestSpec_M5_Case59_PrototypesSatisfyNothing(t *testing.T) {
	s := serveTools(t, `[{"name":"needs","inputSchema":{"type":"object","required":["__proto__","constructor"]}},
		{"name":"defaults","inputSchema":{"type":"object","properties":{"__proto__":{"default":{"polluted":1}}}}}]`)
	n := node(t, config(t, fmt.Sprintf(`{mcpServers: {s: {url: %q, excludeTools: ["hidden"]}}}`, s.URL)))
	mustComplete(t, exec(t, open(t, n, "a"), `
		const failed = async (call) => { try { await call(); return "called" } catch (e) { return e.code ?? e.name } };
		const text = async (call) => (await call).content[0].text;
		const odd = [];
		for (const name of ["__proto__", "constructor", "prototype", "hidden", "ne\0eds", "needs.call", "toString"]) {
			if (typeof MCP.s[name] === "function" && name !== "toString" && name !== "constructor") odd.push(name);
		}
		return [await failed(() => MCP.s.needs({})), await text(MCP.s.needs(JSON.parse('{"__proto__":1,"constructor":2}'))),
			await text(MCP.s.defaults({})), ({}).polluted ?? null, odd]`),
		`["input_contract","needs{\"__proto__\":1,\"constructor\":2}","defaults{\"__proto__\":{\"polluted\":1}}",null,[]]`)
	if got := s.called(); got != "needs defaults" {
		t.Errorf("the server was called with %s", got)
	}
}

// Case 66: a run with no MCP tools has no MCP files, and both prefixes find what there is.
func TestSpec_G3_Case66_NoServersNoFiles(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "a")
	mustComplete(t, exec(t, run, `return [API.list("mcp").files, API.list("mcp/").files, Object.keys(MCP), API.list("tools").files.length, API.list("tools/").files.length]`),
		`[[],[],[],2,2]`)
	described, err := run.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(described.Surface); strings.Contains(text, "MCP") {
		t.Errorf("a run without servers is told of MCP: %.600s", text)
	}
}
