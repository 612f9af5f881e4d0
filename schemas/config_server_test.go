package schemas_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_F5_BlocksOfOtherClients pastes what users of other MCP clients have.
func TestSpec_F5_BlocksOfOtherClients(t *testing.T) {
	t.Setenv("CODECELL_TEST_KEY", "k3y")
	for _, tc := range []struct {
		name, entry string
		want        schemas.MCPServer
	}{
		{"desktop", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"], "env": {"KEY": "v", "PORT": 8080, "DEBUG": true}}`,
			schemas.MCPServer{Type: "stdio", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/tmp"}, Env: map[string]string{"KEY": "v", "PORT": "8080", "DEBUG": "true"}}},
		{"typed http", `{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${CODECELL_TEST_KEY}"}}`,
			schemas.MCPServer{Type: "http", URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer k3y"}}},
		{"streamable-http", `{"type": "streamable-http", "url": "https://h/mcp"}`, schemas.MCPServer{Type: "http", URL: "https://h/mcp"}},
		{"streamableHttp", `{"type": "streamableHttp", "url": "https://h/mcp", "timeout": 60}`, schemas.MCPServer{Type: "http", URL: "https://h/mcp"}},
		{"serverUrl", `{"serverUrl": "https://h/mcp"}`, schemas.MCPServer{Type: "http", URL: "https://h/mcp"}},
		{"httpUrl", `{"httpUrl": "https://h/mcp", "trust": true}`, schemas.MCPServer{Type: "http", URL: "https://h/mcp"}},
		{"env form", `{"command": "x", "args": ["${env:CODECELL_TEST_KEY}"], "autoApprove": ["a"], "alwaysAllow": [], "description": "d"}`,
			schemas.MCPServer{Type: "stdio", Command: "x", Args: []string{"k3y"}}},
		{"default and escape", `{"command": "sh", "args": ["-c", "echo $HOME $${KEPT} ${CODECELL_NOT_SET:-dflt} ${A%%b}"]}`,
			schemas.MCPServer{Type: "stdio", Command: "sh", Args: []string{"-c", "echo $HOME ${KEPT} dflt ${A%%b}"}}},
		{"disabled", `{"command": "x", "disabled": true, "type": "sse", "env": {"K": "${CODECELL_NOT_SET}"}}`, schemas.MCPServer{Disabled: true}},
		{"enabled false", `{"command": "x", "enabled": false}`, schemas.MCPServer{Disabled: true}},
		{"tools left out", `{"command": "x", "disabledTools": ["rm"], "includeTools": ["ls"]}`, schemas.MCPServer{Type: "stdio", Command: "x", ExcludeTools: []string{"rm"}, IncludeTools: []string{"ls"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := parse(t, `{mcpServers: {"my server": `+tc.entry+`}}`)
			if d := cmp.Diff(tc.want, c.MCPServers["my server"]); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestServerTimeouts(t *testing.T) {
	c := parse(t, `{mcpServers: {a: {command: "x"}, b: {command: "x", connectTimeoutMs: 5, callTimeoutMs: Infinity}}}`)
	a, b := c.MCPServers["a"], c.MCPServers["b"]
	if a.ConnectTimeout() != 30*time.Second || a.CallTimeout() != 10*time.Minute {
		t.Errorf("defaults: %v, %v", a.ConnectTimeout(), a.CallTimeout())
	}
	if b.ConnectTimeout() != 100*time.Millisecond || b.CallTimeout() != 24*time.Hour {
		t.Errorf("clamps: %v, %v", b.ConnectTimeout(), b.CallTimeout())
	}
}

// TestSpec_B5_ProblemsKeepSecrets: what is wrong with a secret is said without the secret.
func TestSpec_B5_ProblemsKeepSecrets(t *testing.T) {
	t.Setenv("CODECELL_TEST_KEY", "s3cret")
	for _, text := range []string{
		`{mcpServers: {a: {command: "x", env: {K: ["s3cret"]}, url: "http://s3cret@h"}}}`,
		`{mcpServers: {a: {url: "ftp://${CODECELL_TEST_KEY}"}}}`,
		`{mcpServers: {a: {url: "https://u:s3cret@%zz"}}}`,
		`{mcpServers: {a: {type: "s3cret", command: "x"}}}`,
		`{bus: {token: {x: "s3cret"}}}`,
		`{contract: "s3cret"}`,
	} {
		problems := schemas.Check([]byte(text), "x")
		if len(problems) == 0 {
			t.Errorf("%s: no problem", text)
		}
		for _, e := range problems {
			if strings.Contains(e.Message, "s3cret") {
				t.Errorf("%s: %s", text, e.Message)
			}
		}
	}
}
