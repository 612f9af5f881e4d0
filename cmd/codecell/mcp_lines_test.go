package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSpec_V1_B4_LinesThatAreNoMessages(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	long := `{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("x", 8000) + `"}`
	for name, c := range map[string]struct{ in, out, told string }{
		"messages":          {ping + "\n" + ping + "\r\n", ping + "\n" + ping + "\n", ""},
		"without an end":    {ping, ping + "\n", ""},
		"blank lines":       {"\n  \r\n" + ping + "\n\n", ping + "\n", ""},
		"no JSON":           {"garbage\n" + ping + "\n", ping + "\n", "-32700"},
		"no UTF-8":          {"\xff\xfe\n" + ping + "\n", ping + "\n", "-32700"},
		"half a message":    {ping[:20] + "\n" + ping + "\n", ping + "\n", "-32700"},
		"no message":        {"{}\n" + ping + "\n", ping + "\n", "-32600"},
		"a number":          {"5\n" + ping + "\n", ping + "\n", "-32600"},
		"an empty batch":    {"[]\n" + ping + "\n", ping + "\n", "-32600"},
		"a batch":           {"[" + ping + "]\n", "[" + ping + "]\n", ""},
		"no message in one": {"[5]\n" + ping + "\n", ping + "\n", "-32600"},
		"too long":          {long + "\n" + ping + "\n", ping + "\n", "-32600"},
		"too long, the end": {ping + "\n" + long, ping + "\n", "-32600"},
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			l := newLines(iotest.OneByteReader(strings.NewReader(c.in)), &told)
			l.max = 6000
			got, err := io.ReadAll(l)
			if err != nil || string(got) != c.out {
				t.Errorf("read %q, %v, want %q", got, err, c.out)
			}
			if text := told.String(); (c.told == "") != (text == "") || !strings.Contains(text, c.told) || strings.Count(text, "\n") > 1 {
				t.Errorf("told %q, want %q", text, c.told)
			}
		})
	}
}
