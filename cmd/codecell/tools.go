package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Formats of `codecell tools`.
const (
	formatText      = "text"
	formatOpenAI    = "openai"
	formatAnthropic = "anthropic"
	formatMCP       = "mcp"
)

var formats = []string{formatText, formatOpenAI, formatAnthropic, formatMCP}

// surfaceFlags say how a model is to reach the tools.
type surfaceFlags struct{ mode, model string }

func (f *surfaceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", string(schemas.ModeAuto), "how the model reaches the tools: direct, search, code or auto")
	flags.StringVar(&f.model, "model", "", "the `model` for which the configuration decides with --mode auto, as \"provider/model\"")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("model", cobra.NoFileCompletions)
}

// open is what the flags ask for, of a front unless told otherwise.
func (f *surfaceFlags) open(config *schemas.Config) (schemas.Open, error) {
	mode, err := schemas.ParseMode(f.mode)
	if err != nil {
		return schemas.Open{}, errors.New("--mode: " + message(err))
	}
	return schemas.Open{Mode: mode, Model: modelRef(config, f.model), Front: true}, nil
}

// modelRef is a model's key in the configuration.
func modelRef(config *schemas.Config, model string) string {
	if model == "" {
		return ""
	}
	p := agent.Provider{Name: config.Provider.ProviderName(), Model: model}
	return p.Ref()
}

// toolsFlags are the flags of `codecell tools`.
type toolsFlags struct {
	surfaceFlags
	format string
	prompt bool
}

func (a *app) toolsCommand() *cobra.Command {
	var f toolsFlags
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List what programs can call, or what a model is shown",
		Long: `Lists the tools that programs can call.

With --format it prints what a model is shown instead, byte for byte: openai is the tools array of the requests that codecell agent
sends, anthropic that of a request to Anthropic's Messages API, mcp what codecell mcp answers to tools/list. --mode and --model
say for which surface, as they do for these commands; without --model, openai and anthropic are for the configured one.

What a surface adds to the model's instructions, as the directory of Tool Search, isn't part of the tools: --prompt prints it.`,
		Example: `  codecell tools
  codecell tools --format openai --mode search
  codecell tools --prompt --mode search`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.tools(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.format, "format", formatText, "what to print: "+strings.Join(formats, ", "))
	cmd.Flags().BoolVar(&f.prompt, "prompt", false, "print what goes into the model's instructions, in place of the tools")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	f.register(cmd)
	a.identityFlags(cmd)
	return cmd
}

// tools prints the catalog, or a surface.
func (a *app) tools(cmd *cobra.Command, f *toolsFlags) error {
	ctx := cmd.Context()
	asked, err := f.asked(a, cmd)
	if err != nil {
		return err
	}
	return a.withRun(ctx, asked, func(run *bus.Run) error {
		described, err := run.Describe(ctx)
		if err != nil {
			return err
		}
		if asked.Mode == "" {
			a.printCatalog(described.Catalog, described.Problems, "tools", noTools(described.Problems))
			return nil
		}
		a.warn(described.Problems)
		a.printSurface(&described.Surface, f)
		return nil
	})
}

// noTools is what to do where there are none.
func noTools(problems []string) string {
	if len(problems) > 0 {
		return "no tools: see what is wrong with those that there could be"
	}
	return "no tools: configure mcpServers or workspace.root"
}

// asked is the run whose surface is looked at; without a mode it's the catalog that is.
func (f *toolsFlags) asked(a *app, cmd *cobra.Command) (schemas.Open, error) {
	given := cmd.Flags().Changed
	switch f.format {
	case formatText:
		if f.prompt {
			break
		}
		if given("mode") || given("model") {
			return schemas.Open{}, errors.New("--mode and --model are for what a model is shown: give --format openai, anthropic or mcp, or --prompt, too")
		}
		return schemas.Open{}, nil
	case formatOpenAI, formatAnthropic, formatMCP:
	default:
		return schemas.Open{}, fmt.Errorf("--format must be one of %s, not %q", strings.Join(formats, ", "), f.format)
	}
	config, err := a.config()
	if err != nil {
		return schemas.Open{}, err
	}
	open, err := f.open(config)
	if open.Front = f.format == formatMCP; !open.Front {
		open.Model = modelRef(config, cmp.Or(f.model, config.Agent(a.agent).Model, config.Provider.Model))
	}
	return open, err
}

// printSurface prints what a model is shown.
func (a *app) printSurface(s *schemas.Surface, f *toolsFlags) {
	switch {
	case f.prompt && a.json:
		a.printJSON(map[string]string{"prompt": s.Prompt})
		return
	case f.prompt && s.Prompt == "":
		a.note("no prompt: in this mode all that a model is shown is in the tools")
		return
	case f.prompt:
		fmt.Fprintln(a.out, printable(s.Prompt))
		return
	case s.Prompt != "":
		a.note(fmt.Sprintf("prompt: %d bytes go into the model's instructions besides; --prompt prints them", len(s.Prompt)))
	}
	switch f.format {
	case formatOpenAI:
		fmt.Fprintf(a.out, "%s\n", agent.ToolsJSON(s))
	case formatAnthropic:
		a.printJSON(anthropicTools(s))
	default:
		a.printJSON(map[string]any{"tools": mcpTools(s)})
	}
}

// anthropicTool is a tool as Anthropic's Messages API has it.
type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func anthropicTools(s *schemas.Surface) []anthropicTool {
	tools := make([]anthropicTool, len(s.Tools))
	for i := range s.Tools {
		t := &s.Tools[i]
		tools[i] = anthropicTool{t.Name, t.Description, json.RawMessage(t.InputSchema)}
	}
	return tools
}
