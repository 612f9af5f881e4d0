package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
)

// modes are what --mode takes.
var modes = []string{string(schemas.ModeAuto), string(schemas.ModeCode), string(schemas.ModeDirect), string(schemas.ModeSearch)}

// agentFlags are the flags of `codecell agent`. They win over the configuration.
type agentFlags struct {
	url, provider, model, keyEnv string
	mode, system, session        string
	noStream, noTools, quiet     bool
	requests                     int
	tokens                       int64
	cost                         float64
	timeout                      time.Duration
}

func (f *agentFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "provider-url", "", "base `URL` of the provider's API, such as https://api.openai.com/v1 (default provider.url)")
	flags.StringVar(&f.model, "model", "", "`name` of the model (default the agent's model, else provider.model)")
	flags.StringVar(&f.provider, "provider", "", "the provider's part of \"provider/model\" in the configuration (default "+schemas.DefaultProvider+")")
	flags.StringVar(&f.keyEnv, "api-key-env", "", "environment `variable` with the provider's key (default "+schemas.DefaultKeyEnv+")")
	flags.StringVar(&f.mode, "mode", string(schemas.ModeAuto), "how the model reaches the tools: direct, search, code or auto")
	flags.StringVar(&f.system, "system", "", "`file` with what the model is told first (default the agent's instructions)")
	flags.StringVar(&f.session, "session", "", "`name` of the session that the turn belongs to (default none)")
	flags.BoolVar(&f.noStream, "no-stream", false, "ask for whole answers instead of streams")
	flags.BoolVar(&f.noTools, "no-tools", false, "ask the model without any tools")
	flags.BoolVar(&f.quiet, "quiet", false, "tell nothing on standard error but errors, warnings and approvals")
	flags.IntVar(&f.requests, "max-requests", 0, "end after so many requests to the provider (default 40)")
	flags.Int64Var(&f.tokens, "max-tokens", 0, "end when the requests have come to so many tokens (default no bound)")
	flags.Float64Var(&f.cost, "max-cost", 0, "end when they have cost so many `dollars` (default no bound)")
	flags.DurationVar(&f.timeout, "timeout", 0, "end after this time, such as 10m (default 1h)")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("model", cobra.NoFileCompletions)
}

// turn makes the turn that the flags and the configuration ask for, and puts into the configuration what the flags say of
// the provider: agents that this one starts ask the same.
func (f *agentFlags) turn(cmd *cobra.Command, a *app, config *schemas.Config) (*agent.Turn, error) {
	mode, err := schemas.ParseMode(f.mode)
	if err != nil {
		return nil, errors.New("--mode: " + message(err))
	}
	p, err := f.asked(a, config)
	if err != nil {
		return nil, err
	}
	traits := config.TraitsOf(p.Ref())
	limits, err := f.limits(cmd, config, traits.Price)
	if err != nil {
		return nil, err
	}
	instructions := config.Agent(a.agent).Instructions
	if f.system != "" {
		if instructions, err = a.text(cmd.Context(), f.system, "--system", maxPrompt, "say less"); err != nil {
			return nil, err
		}
	}
	turn := &agent.Turn{
		Provider: *p, Identity: f.identity(a), Mode: mode, Raw: f.noTools, Bind: f.session != "",
		Instructions: instructions, Limits: limits, ContextTokens: traits.Context(),
	}
	if traits.Price != nil {
		turn.Price = *traits.Price
	}
	return turn, f.debug(a, config, turn)
}

// asked is the provider and its model.
func (f *agentFlags) asked(a *app, config *schemas.Config) (*agent.Provider, error) {
	c := &config.Provider
	c.URL, c.Name, c.APIKeyEnv = cmp.Or(f.url, c.URL), cmp.Or(f.provider, c.Name), cmp.Or(f.keyEnv, c.APIKeyEnv)
	p := agent.NewProvider(c, a.env)
	p.Model, p.NoStream = cmp.Or(f.model, config.Agent(a.agent).Model, c.Model), f.noStream
	switch {
	case p.URL == "":
		return nil, errors.New("there is no provider to ask: give --provider-url, such as https://api.openai.com/v1, or set provider.url in the configuration")
	case p.Model == "":
		return nil, errors.New("there is no model to ask: give --model, or set provider.model in the configuration")
	case f.keyEnv != "" && p.Key == "":
		return nil, fmt.Errorf("--api-key-env %s: the variable is empty: put the provider's key there, or leave the flag out for a provider without keys", f.keyEnv)
	}
	c.Model = cmp.Or(f.model, c.Model, p.Model)
	return &p, nil
}

// limits are the bounds of the turn.
func (f *agentFlags) limits(cmd *cobra.Command, config *schemas.Config, price *schemas.Price) (agent.Limits, error) {
	c := &config.Turns
	limits := agent.Limits{Requests: c.Requests(), Tokens: c.Tokens(), CostUSD: c.CostUSD(), Timeout: c.Timeout()}
	given := cmd.Flags().Changed
	if given("max-requests") {
		if f.requests < 1 || f.requests > 1000 {
			return limits, fmt.Errorf("--max-requests must be from 1 to 1000, not %d", f.requests)
		}
		limits.Requests = f.requests
	}
	if given("max-tokens") {
		if f.tokens < 1 {
			return limits, fmt.Errorf("--max-tokens must be at least 1, not %d", f.tokens)
		}
		limits.Tokens = f.tokens
	}
	if given("max-cost") {
		if !(f.cost > 0) || math.IsInf(f.cost, 0) {
			return limits, fmt.Errorf("--max-cost must be an amount above 0, such as 0.50, not %v", f.cost)
		}
		limits.CostUSD = f.cost
	}
	if limits.CostUSD > 0 && price == nil {
		return limits, errors.New("the cost can't be bounded, since nobody has said what the model costs: set its price in models of the configuration, or bound --max-tokens")
	}
	if given("timeout") {
		if f.timeout < time.Second || f.timeout > 24*time.Hour {
			return limits, fmt.Errorf("--timeout must be from 1s to 24h, not %v", f.timeout)
		}
		limits.Timeout = f.timeout
	}
	return limits, nil
}

// debug gives the turn its log, which shows what the environment asks for, and nothing that is a credential.
func (f *agentFlags) debug(a *app, config *schemas.Config, turn *agent.Turn) (err error) {
	if turn.Debug, err = agent.DebugOf(a.env); err != nil {
		return err
	}
	redactor, err := run.NewRedactor(config, turn.Provider.Key)
	if err != nil {
		return err
	}
	turn.Debug.Redact = redactor.Text
	log := a.log()
	if turn.Debug.Any() {
		log = slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	turn.Logger = redactor.Logger(log)
	return nil
}

// identity is who a turn acts for. Its run is its own. So is its session, unless one is named: what was granted for a
// session must not hold for whoever has none.
func (f *agentFlags) identity(a *app) schemas.Identity {
	unique := strings.ToLower(rand.Text())
	name := cmp.Or(f.session, "agent-"+unique)
	return schemas.Identity{Agent: a.agent, SessionID: name, SessionKey: name, Run: "agent:" + unique}
}
