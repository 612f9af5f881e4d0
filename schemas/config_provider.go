package schemas

import (
	"cmp"
	"path"
	"strings"
	"time"
)

// ProviderConfig is the model provider that turns of agents are asked of: any endpoint that speaks OpenAI's chat
// completions (V4).
type ProviderConfig struct {
	// URL is the base of the API, such as "https://api.openai.com/v1".
	URL string `json:"url"`
	// Name is the provider's part of "provider/model"; take it from [ProviderConfig.ProviderName].
	Name string `json:"name"`
	// Model is asked where an agent names none.
	Model string `json:"model"`
	// APIKeyEnv names the environment variable that holds the key; take it from [ProviderConfig.KeyEnv].
	APIKeyEnv string `json:"apiKeyEnv"`
	// SilenceSeconds is how long the provider may send nothing; take it from [ProviderConfig.Silence].
	SilenceSeconds *float64 `json:"silenceSeconds"`
	// MaxRetries is how often a request that did nothing yet is sent again; take it from [ProviderConfig.Retries].
	MaxRetries *float64 `json:"maxRetries"`
}

// What holds where nobody has said anything of the provider.
const (
	DefaultProvider = "openai"
	DefaultKeyEnv   = "OPENAI_API_KEY"
)

// ProviderName is the provider's part of "provider/model": [DefaultProvider] unless configured.
func (p *ProviderConfig) ProviderName() string { return cmp.Or(p.Name, DefaultProvider) }

// KeyEnv names the environment variable that holds the key: [DefaultKeyEnv] unless configured.
func (p *ProviderConfig) KeyEnv() string { return cmp.Or(p.APIKeyEnv, DefaultKeyEnv) }

// Silence is how long the provider may send nothing: 120 s unless configured, from 1 s to an hour.
func (p *ProviderConfig) Silence() time.Duration {
	return time.Duration(limit(120, 1, 3600, p.SilenceSeconds)) * time.Second
}

// Retries is how often a request is sent again: 3 times unless configured, at most 10.
func (p *ProviderConfig) Retries() int {
	if p.MaxRetries != nil && *p.MaxRetries == 0 {
		return 0
	}
	return limit(3, 0, 10, p.MaxRetries)
}

// TurnConfig bounds an agent's turn.
type TurnConfig struct {
	// MaxRequests is how often the model may be asked; take it from [TurnConfig.Requests].
	MaxRequests *float64 `json:"maxRequests"`
	// MaxTokens bounds input and output of all requests together, MaxCostUSD what they cost; zero means no bound.
	MaxTokens  *float64 `json:"maxTokens"`
	MaxCostUSD *float64 `json:"maxCostUsd"`
	// TimeoutSeconds bounds the whole turn; take it from [TurnConfig.Timeout].
	TimeoutSeconds *float64 `json:"timeoutSeconds"`
}

// Requests is how often the model may be asked in one turn: 40 unless configured, from 1 to 1000.
func (t *TurnConfig) Requests() int { return limit(40, 1, 1000, t.MaxRequests) }

// Tokens bounds the tokens of a turn; 0 means no bound.
func (t *TurnConfig) Tokens() int64 { return int64(positive(t.MaxTokens)) }

// CostUSD bounds what a turn costs, in US dollars; 0 means no bound.
func (t *TurnConfig) CostUSD() float64 { return positive(t.MaxCostUSD) }

// Timeout bounds the time of a turn: an hour unless configured, from 1 s to a day.
func (t *TurnConfig) Timeout() time.Duration {
	return time.Duration(limit(3600, 1, 86_400, t.TimeoutSeconds)) * time.Second
}

// ModelTraits are what is known of a model. The table of them has one entry for a pattern of "provider/model", in which *
// stands for any text.
type ModelTraits struct {
	// PreferCodeMode: Code Mode "auto" means on for it (F1). Nil says nothing.
	PreferCodeMode *bool `json:"preferCodeMode"`
	// ContextTokens is the size of its context window; 0 is unknown (L3).
	ContextTokens *float64 `json:"contextTokens"`
	// Price is what it costs; nil is unknown.
	Price *Price `json:"price"`
}

// preferred are models that "auto" turns Code Mode on for where the configuration says nothing: the large models of
// their makers, which write JavaScript well. Small siblings, and whatever isn't known, see their tools directly.
var preferred = []struct {
	pattern string
	prefer  bool
}{
	{"*/claude-opus-4*", true}, {"*/claude-sonnet-4*", true}, {"*/claude-opus-5*", true}, {"*/claude-sonnet-5*", true},
	{"*/gpt-5*", true}, {"*/gpt-5*-mini*", false}, {"*/gpt-5*-nano*", false}, {"*/gpt-4.1", true},
	{"*/gemini-2.5-pro*", true}, {"*/gemini-3*-pro*", true},
	{"*/deepseek-v3*", true}, {"*/kimi-k2*", true}, {"*/qwen3-coder*", true}, {"*/glm-4.6*", true},
}

// TraitsOf gives what is known of a model, "provider/model": for each trait the most specific pattern of the
// configuration's models that says something, then the built-in table. Of two patterns the one with more characters that
// aren't * is the more specific, then the one that comes first in the alphabet.
func (c *Config) TraitsOf(model string) ModelTraits {
	var t ModelTraits
	var best [3]string
	better := func(pattern, than string) bool {
		a, b := weightOf(pattern), weightOf(than)
		return than == "" || a > b || a == b && pattern < than
	}
	for pattern, m := range c.Models {
		if !matchModel(pattern, model) {
			continue
		}
		if m.PreferCodeMode != nil && better(pattern, best[0]) {
			t.PreferCodeMode, best[0] = m.PreferCodeMode, pattern
		}
		if m.ContextTokens != nil && better(pattern, best[1]) {
			t.ContextTokens, best[1] = m.ContextTokens, pattern
		}
		if m.Price != nil && better(pattern, best[2]) {
			t.Price, best[2] = m.Price, pattern
		}
	}
	if t.PreferCodeMode != nil {
		return t
	}
	for _, p := range preferred {
		if matchModel(p.pattern, model) && better(p.pattern, best[0]) {
			t.PreferCodeMode, best[0] = &p.prefer, p.pattern
		}
	}
	return t
}

// Preferred tells whether "auto" means on for the model.
func (t ModelTraits) Preferred() bool { return t.PreferCodeMode != nil && *t.PreferCodeMode }

// Context is the size of the model's context window in tokens; 0 is unknown.
func (t ModelTraits) Context() int { return int(positive(t.ContextTokens)) }

func weightOf(pattern string) int { return len(pattern) - strings.Count(pattern, "*") }

// matchModel matches a pattern of a model, in which * stands for any text, slashes included.
func matchModel(pattern, model string) bool {
	// path.Match lets * stop at slashes, which mean nothing here.
	flat := strings.NewReplacer("/", "\x00", "[", "\x01", "?", "\x02", "\\", "\x03")
	ok, err := path.Match(flat.Replace(strings.ToLower(pattern)), flat.Replace(strings.ToLower(model)))
	return ok && err == nil
}
