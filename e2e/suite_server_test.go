package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// suiteServer names the variable that turns the test binary into an MCP server over stdio with the tools that the
// conformance suite calls by name. What the suite asks of them is in its own descriptions.
const suiteServer = "E2E_SUITE_SERVER"

// suiteSchema is the input schema of json_schema_2020_12_tool. Besides what the suite looks for it has what careless
// hands change: an order of keywords that isn't the alphabet's, one that nobody knows, and more digits than a float64 has.
const suiteSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},` +
	`"id":{"type":"integer","maximum":12345678901234567890,"x-unknown":1.0}},"additionalProperties":false}`

// suiteTools are the suite's tools and what each answers.
func suiteTools() (map[string]*mcp.CallToolResult, error) {
	text := func(text string) mcp.Content { return &mcp.TextContent{Text: text} }
	var pixel bytes.Buffer
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.RGBA{R: 0xff, A: 0xff})
	if err := png.Encode(&pixel, dot); err != nil {
		return nil, err
	}
	picture := &mcp.ImageContent{Data: pixel.Bytes(), MIMEType: "image/png"}
	resource := func(uri, mimeType, text string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
	}
	results := map[string]*mcp.CallToolResult{"test_error_handling": {
		IsError: true, Content: []mcp.Content{text("This tool intentionally returns an error for testing")},
	}}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":       {text("This is a simple text response for testing.")},
		"test_image_content":     {picture},
		"test_audio_content":     {&mcp.AudioContent{Data: []byte(silence), MIMEType: "audio/wav"}},
		"test_embedded_resource": {resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			text("Multiple content types test:"), picture,
			resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
		"json_schema_2020_12_tool": {text("valid")},
	} {
		results[name] = &mcp.CallToolResult{Content: content}
	}
	return results, nil
}

// silence is a WAV file of two samples: 8 kHz, mono, 16 bits.
const silence = "RIFF\x28\x00\x00\x00WAVE" +
	"fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00" +
	"data\x04\x00\x00\x00\x00\x00\x00\x00"

// serveSuite serves the suite's tools until stdin ends.
func serveSuite() int {
	server := mcp.NewServer(&mcp.Implementation{Name: "suite", Version: "1"}, nil)
	tools, err := suiteTools()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		return 1
	}
	for name, result := range tools {
		schema := `{"type":"object"}`
		if name == "json_schema_2020_12_tool" {
			schema = suiteSchema
		}
		server.AddTool(&mcp.Tool{Name: name, Description: "For the conformance suite", InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		return 1
	}
	return 0
}

// suite returns the command that starts the server.
func suite(t *testing.T) command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command{path: self, env: []string{suiteServer + "=1"}}
}

// suiteConfig writes a config that shows all tools of that server to the model, and returns its path.
func suiteConfig(t *testing.T) string {
	t.Helper()
	return directConfig(t, servers{"suite": {"command": suite(t).path, "env": map[string]string{suiteServer: "1"}}}, "suite")
}
