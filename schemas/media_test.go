package schemas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_L2_M2_MediaOfACalledTool(t *testing.T) {
	for name, c := range map[string]struct{ answer, want, taken string }{
		"image and sound": {
			`{"tool":{"id":"mcp:a:b","name":"b","source":"mcp"},"result":{"content":[{"type":"text","text":"QUJD"},` +
				`{"type":"image","data":"QUJD","mimeType":"image/png"}, {"mimeType":"audio/wav", "data" : "QU\/D","type":"audio"}],"structuredContent":{"n":12345678901234567890}}}`,
			`{"tool":{"id":"mcp:a:b","name":"b","source":"mcp"},"result":{"content":[{"type":"text","text":"QUJD"},` +
				`{"type":"image","data":"[0]","mimeType":"image/png"}, {"mimeType":"audio/wav", "data" : "[1]","type":"audio"}],"structuredContent":{"n":12345678901234567890}}}`,
			"image image/png QUJD, audio audio/wav QU/D",
		},
		"the same twice": {
			`{"tool":{"source":"mcp"},"result":{"content":[{"type":"image","data":"QQ=="},{"type":"image","data":"QQ=="}]}}`,
			`{"tool":{"source":"mcp"},"result":{"content":[{"type":"image","data":"[0]"},{"type":"image","data":"[1]"}]}}`,
			"image  QQ==, image  QQ==",
		},
		"another kind of tool": {answer: `{"tool":{"source":"openclaw"},"result":{"content":[{"type":"image","data":"QQ=="}]}}`},
		"no data":              {answer: `{"tool":{"source":"mcp"},"result":{"content":[{"type":"image"},{"type":"image","data":7},{"type":"image","data":""},5,null]}}`},
		"no content":           {answer: `{"tool":{"source":"mcp"},"result":{"content":{"type":"image","data":"QQ=="}}}`},
		"no answer":            {answer: `[`},
		"nothing":              {answer: ``},
	} {
		var taken []string
		got, _ := schemas.LiftMedia(schemas.JSON(c.answer), func(kind, mime, data string) string {
			taken = append(taken, fmt.Sprintf("%s %s %s", kind, mime, data))
			return fmt.Sprintf("[%d]", len(taken)-1)
		})
		want := c.want
		if want == "" {
			want = c.answer
		}
		if string(got) != want || strings.Join(taken, ", ") != c.taken {
			t.Errorf("%s: %s, took %s", name, got, taken)
		}
	}
}

func TestSpec_L2_M2_CalledToolsThatFail(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"tool":{"source":"mcp"},"result":{"content":[],"isError":true}}`:        true,
		`{"tool":{"source":"mcp"},"result":{"content":[],"isError":false}}`:       false,
		`{"tool":{"source":"mcp"},"result":{"content":[]}}`:                       false,
		`{"tool":{"source":"openclaw"},"result":{"content":[],"isError":true}}`:   false,
		`{"tool":{"source":"mcp"},"result":"text"}`:                               false,
		`{"tool":{"source":"mcp"},"result":{"content":[],"isError":"certainly"}}`: false,
		``: false,
	} {
		if got, failed := schemas.LiftMedia(schemas.JSON(answer), nil); failed != want || string(got) != answer {
			t.Errorf("%s: %s, %v", answer, got, failed)
		}
	}
}
