package schemas_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_F1_TraitsOfModels is the table of what "auto" means: a configuration's pattern goes before the built-in ones,
// the one that says more before the others.
func TestSpec_F1_TraitsOfModels(t *testing.T) {
	const own = `{models: {
		"lab/*": {preferCodeMode: true, contextTokens: 1000}, "lab/small*": {preferCodeMode: false}, "lab/small-but-bright": {preferCodeMode: true},
		"lab/*-x": {price: {input: 1}}, "lab/a*": {price: {input: 2}}, "router/*/big": {preferCodeMode: true},
		"*/odd[1]?": {preferCodeMode: true}, "openai/gpt-5*": {contextTokens: 400000}, "anthropic/*": {preferCodeMode: false},
	}}`
	for _, c := range []struct {
		config, model string
		preferred     bool
	}{
		// The built-in table.
		{`{}`, "anthropic/claude-opus-4-1", true}, {`{}`, "bedrock/claude-sonnet-4-5", true}, {`{}`, "anthropic/claude-haiku-4-5", false},
		{`{}`, "openai/gpt-5", true}, {`{}`, "openai/gpt-5.1-codex", true}, {`{}`, "openai/gpt-5-mini", false}, {`{}`, "openai/gpt-5-nano-2025", false},
		{`{}`, "openai/gpt-4.1", true}, {`{}`, "openai/gpt-4.1-mini", false}, {`{}`, "openai/gpt-4o", false},
		{`{}`, "google/gemini-2.5-pro", true}, {`{}`, "google/gemini-2.5-flash", false}, {`{}`, "google/gemini-3-pro-preview", true},
		{`{}`, "openrouter/anthropic/claude-opus-4", true}, {`{}`, "OpenAI/GPT-5", true},
		{`{}`, "gpt-5", false}, {`{}`, "", false}, {`{}`, "/", false}, {`{}`, strings.Repeat("a/", 200), false},
		// What is configured.
		{own, "lab/any", true}, {own, "LAB/Any", true}, {own, "lab/small-1", false}, {own, "lab/small-but-bright", true}, {own, "other/any", false},
		{own, "router/some/model/big", true}, {own, "router/big", false}, {own, "x/odd[1]?", true}, {own, "x/odd1y", false},
		{own, "anthropic/claude-opus-4", false}, {own, "openai/gpt-5", true}, {own, "openai/gpt-5-mini", false},
	} {
		if got := parse(t, c.config).TraitsOf(c.model).Preferred(); got != c.preferred {
			t.Errorf("%s prefers Code Mode: %v, want %v", c.model, got, c.preferred)
		}
	}
	// Each trait comes from the most specific pattern that says something of it.
	c := parse(t, own)
	for model, want := range map[string]int{"lab/small-1": 1000, "openai/gpt-5-mini": 400000, "openai/gpt-4o": 0} {
		if got := c.TraitsOf(model).Context(); got != want {
			t.Errorf("%s has a context of %d, want %d", model, got, want)
		}
	}
	for model, want := range map[string]float64{"lab/b-x": 1, "lab/ab": 2, "lab/a-x": 1} {
		if got := c.TraitsOf(model).Price; got == nil || got.Input != want {
			t.Errorf("%s costs %+v, want %v", model, got, want)
		}
	}
	// Of two patterns that say as much, the first in the alphabet counts, however they stand in the file.
	for range 20 {
		if got := parse(t, `{models: {"lab/*b": {contextTokens: 2}, "lab/a*": {contextTokens: 1}}}`).TraitsOf("lab/ab").Context(); got != 2 {
			t.Fatalf("the context is %d", got)
		}
	}
}

func TestPriceAndUsage(t *testing.T) {
	use := schemas.Usage{InputTokens: 3_000_000, CachedTokens: 1_000_000, OutputTokens: 500_000}
	if got := (schemas.Price{Input: 2, Output: 10}).Cost(use); got != 11 {
		t.Errorf("without a price for cached input: %v", got)
	}
	if got := (schemas.Price{Input: 2, CachedInput: 0.5, Output: 10}).Cost(use); got != 9.5 {
		t.Errorf("with one: %v", got)
	}
	use.Add(schemas.Usage{InputTokens: 1, CachedTokens: 2, OutputTokens: 3})
	if want := (schemas.Usage{InputTokens: 3_000_001, CachedTokens: 1_000_002, OutputTokens: 500_003}); use != want {
		t.Errorf("sum = %+v", use)
	}
}

// TestSpec_V4_F2_BoundsOfTurns: nothing that a file says makes a turn endless.
func TestSpec_V4_F2_BoundsOfTurns(t *testing.T) {
	type bounds struct {
		Silence          time.Duration
		Retries          int
		Requests         int
		Tokens           int64
		CostUSD          float64
		Timeout          time.Duration
		ContextOfAnyLike int
	}
	def := bounds{Silence: 2 * time.Minute, Retries: 3, Requests: 40, Timeout: time.Hour}
	for text, want := range map[string]bounds{
		`{}`:                        def,
		`{provider: {}, turns: {}}`: def,
		`{provider: {silenceSeconds: 0, maxRetries: -1}, turns: {maxRequests: 0, maxTokens: -5, maxCostUsd: 0, timeoutSeconds: -1}}`:                def,
		`{provider: {silenceSeconds: NaN, maxRetries: NaN}, turns: {maxRequests: NaN, maxTokens: NaN, maxCostUsd: NaN, timeoutSeconds: -Infinity}}`: def,
		`{provider: {maxRetries: 0}}`: {Silence: def.Silence, Requests: 40, Timeout: time.Hour},
		`{provider: {silenceSeconds: 0.5, maxRetries: 1e9}, turns: {maxRequests: 1e9, maxTokens: Infinity, maxCostUsd: 0.25, timeoutSeconds: 1e12}}`: {
			Silence: time.Second, Retries: 10, Requests: 1000, Tokens: 1e15, CostUSD: 0.25, Timeout: 24 * time.Hour},
		`{turns: {maxRequests: 2.9, maxTokens: 1000.7, timeoutSeconds: 90}}`: {Silence: def.Silence, Retries: 3, Requests: 2, Tokens: 1000, Timeout: 90 * time.Second},
	} {
		c := parse(t, text)
		got := bounds{
			Silence: c.Provider.Silence(), Retries: c.Provider.Retries(), Requests: c.Turns.Requests(), Tokens: c.Turns.Tokens(),
			CostUSD: c.Turns.CostUSD(), Timeout: c.Turns.Timeout(),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

func TestSpec_G10_SwarmSettings(t *testing.T) {
	def := schemas.Swarm{Depth: 1, Agents: 8, Total: 64, Timeout: 10 * time.Minute, Requests: 24}
	on := def
	on.Enabled = true
	for text, want := range map[string]schemas.Swarm{
		`{}`: def, `{tools: {swarm: false}}`: def, `{tools: {swarm: true}}`: on, `{tools: {swarm: {}}}`: on,
		`{tools: {swarm: {enabled: false, maxDepth: 3}}}`: {Depth: 3, Agents: 8, Total: 64, Timeout: 10 * time.Minute, Requests: 24},
		`{tools: {swarm: {maxDepth: 99, maxAgents: 1e9, maxTotal: 1e9, timeoutSeconds: 1e9, maxRequests: 1e9, maxTokens: 1e300}}}`: {
			Enabled: true, Depth: 5, Agents: 64, Total: 1000, Timeout: 24 * time.Hour, Requests: 1000, Tokens: 1e15},
		`{tools: {swarm: {maxDepth: 0, maxAgents: -1, maxTotal: NaN, timeoutSeconds: 0, maxRequests: -Infinity, maxTokens: NaN}}}`: on,
	} {
		if d := cmp.Diff(want, parse(t, text).Swarm()); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

// TestSpec_F6_ProblemsOfTurns: what is wrong is named, with its place and how to mend it.
func TestSpec_F6_ProblemsOfTurns(t *testing.T) {
	for text, want := range map[string]string{
		`{provider: {url: "api.openai.com"}}`:                          `provider.url | x.json5:1:13: provider.url: expected`,
		`{provider: {url: "ftp://x"}}`:                                 `provider.url | expected`,
		`{provider: {URL: "http://x"}}`:                                `provider.URL | there is no such key: did you mean "url"?`,
		`{provider: {apiKey: "sk-1"}}`:                                 `provider.apiKey | there is no such key: did you mean "apiKeyEnv"?`,
		`{provider: {apiKeyEnv: "sk-1"}}`:                              `provider.apiKeyEnv | expected`,
		`{provider: {name: "a/b"}}`:                                    `provider.name | expected`,
		`{provider: {model: ""}}`:                                      `provider.model | expected`,
		`{provider: {maxRetries: "3"}}`:                                `provider.maxRetries | expected a number, got a string`,
		`{provider: "http://x"}`:                                       `provider | expected an object`,
		`{turns: {maxRequest: 3}}`:                                     `turns.maxRequest | did you mean "maxRequests"?`,
		`{turns: {maxTokens: null}}`:                                   `turns.maxTokens | expected a number`,
		`{models: {"a/*": {preferCodeMode: "auto"}}}`:                  `models["a/*"].preferCodeMode | expected true or false, got a string`,
		`{models: {"a/*": {codeMode: true}}}`:                          `models["a/*"].codeMode | there is no such key: there are: contextTokens, preferCodeMode, price`,
		`{models: {"a/*": {contextTokens: -1}}}`:                       `models["a/*"].contextTokens | expected`,
		`{models: {"a/*": {price: {input: -1}}}}`:                      `models["a/*"].price.input | expected`,
		`{models: {"a/*": {price: 3}}}`:                                `models["a/*"].price | expected an object, got a number`,
		`{models: {"gpt-5": {preferCodeMode: true}}}`:                  `models.gpt-5 | "provider/model"`,
		`{models: {"": {}}}`:                                           `models[""] | "provider/model"`,
		`{models: []}`:                                                 `models | expected an object`,
		`{tools: {restricted: {alow: []}}}`:                            `tools.restricted.alow | did you mean "allow"?`,
		`{tools: {restricted: {deny: "x"}}}`:                           `tools.restricted.deny | expected`,
		`{tools: {restricted: true}}`:                                  `tools.restricted | expected an object`,
		`{agents: {entries: {a: {tools: {restricted: {deny: [1]}}}}}}`: `agents.entries.a.tools.restricted.deny[0] | expected a string`,
		`{agents: {entries: {a: {tools: {swarm: true}}}}}`:             `agents.entries.a.tools.swarm | there is no such key`,
		`{agents: {entries: {a: {model: 5}}}}`:                         `agents.entries.a.model | expected a string`,
		`{agents: {entries: {a: {models: {"b/*": {}}}}}}`:              `agents.entries.a.models["b/*"] | wildcards`,
		`{tools: {swarm: "auto"}}`:                                     `tools.swarm | expected`,
		`{tools: {swarm: {depth: 1}}}`:                                 `tools.swarm.depth | there is no such key`,
		`{tools: {swarm: {maxAgents: "8"}}}`:                           `tools.swarm.maxAgents | expected a number, got a string`,
	} {
		got := schemas.Check([]byte(text), "x.json5")
		field, message, _ := strings.Cut(want, " | ")
		if len(got) != 1 || got[0].Field != field || !strings.Contains(got[0].Message, message) {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	c := parse(t, `{provider: {url: "http://h/v1", name: "lab", model: "big", apiKeyEnv: "KEY"}, agents: {entries: {a: {model: "lab/small", instructions: "Be short."}}},
		tools: {restricted: {allow: [], deny: ["exec"]}}}`)
	if c.Provider.URL != "http://h/v1" || c.Provider.Name != "lab" || c.Provider.Model != "big" || c.Provider.APIKeyEnv != "KEY" ||
		c.Agent("a").Model != "lab/small" || c.Agent("a").Instructions != "Be short." || c.Tools.Restricted.Allow == nil || len(c.Tools.Restricted.Deny) != 1 {
		t.Errorf("%+v", c)
	}
}
