package schemas_test

import (
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_B5_VeilURLs(t *testing.T) {
	for text, want := range map[string]string{
		`Post "http://user:***@h:1/mcp?token=s3cret": refused`:       `Post "http://…@h:1/mcp?…": refused`,
		"connect to nats://u:p@a:4222,nats://token@b, tls://c: gone": "connect to nats://…@a:4222,nats://…@b, tls://c: gone",
		"https://h/path/a@b?x":          "https://h/path/a@b?…",
		"is it? who@example.com: no://": "is it? who@example.com: no://",
		"plain":                         "plain",
	} {
		if got := schemas.VeilURLs(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
