package schemas

import (
	"strings"
	"testing"
)

func TestSpec_P8_HistoryIsConfigured(t *testing.T) {
	t.Setenv("CODECELL_TEST_SECRET", "from the environment")
	c, err := ParseConfig([]byte(`{history: {redact: "credentials", secrets: ["${CODECELL_TEST_SECRET}", "plain"], patterns: ["CUST-\\d+"]}}`), "c.json5")
	if err != nil {
		t.Fatal(err)
	}
	if h := c.History; h.Redact != RedactCredentials || strings.Join(h.Secrets, "|") != "from the environment|plain" || h.Patterns[0] != `CUST-\d+` {
		t.Errorf("history = %+v", h)
	}
}

func TestSpec_P8_HistoryThatMasksNothingIsRefused(t *testing.T) {
	t.Setenv("CODECELL_TEST_SECRET", "abc")
	for text, want := range map[string]string{
		`{history: {redact: "credentials", patterns: ["ok", "(no"]}}`:              "history.patterns[1]: expected a regular expression",
		`{history: {redact: "credentials", secrets: ["${CODECELL_TEST_SECRET}"]}}`: "history.secrets[0]: expected a secret of at least 4 bytes",
		`{history: {redact: "credentials", secrets: ["${CODECELL_TEST_UNSET}"]}}`:  "history.secrets[0]: the environment variable CODECELL_TEST_UNSET isn't set",
		`{history: {redact: "all"}}`:                                               "history.redact: expected",
	} {
		_, err := ParseConfig([]byte(text), "c.json5")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "abc") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
