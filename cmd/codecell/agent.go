package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// maxPrompt bounds a prompt and instructions, in bytes: a session keeps them whole.
const maxPrompt = 64 << 10

func (a *app) agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent [flags] PROMPT|-",
		Short: "Take a turn of an agent with a model",
		Long: `Asks a model at any endpoint that speaks OpenAI's chat completions, calls the tools that it asks for, and goes on until it
has answered PROMPT, or standard input for "-".

How the model reaches the tools is --mode: direct shows it all of them, search gives it tools that search and call them, code
gives it exec and wait. auto leaves that to the configuration.

With --session the model knows what was said before in that session, and the turn is kept there: on a running bus (--bus), or
in bus.storeDir of the configuration. Without it the turn begins with nothing and leaves nothing.

The answer is on standard output as it comes; what happens besides is told on standard error. Where a stream breaks off and is
asked for again, the answer begins anew on a line of its own; --json and --no-stream print whole answers only. A call that
waits for an approval is asked about if standard input is a terminal.

Flags win over "provider" and "turns" of the configuration. The key is taken from the environment, and sent to the provider
alone. The first Ctrl-C cancels the turn and what it has started, a second one ends the process.

Exit codes: 0 answered, 1 failed or a limit was reached, 2 usage or configuration error, 130 cancelled.`,
		Example: `  codecell agent --provider-url https://api.openai.com/v1 --model gpt-5 "Which orders are late?"
  codecell agent --session desk --mode code --max-cost 0.50 - < question.txt`,
		Args: exactly("PROMPT, in quotes (or - for standard input)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.takeTurn(cmd, &f, args[0])
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				a.report(err)
				return exit(exitInterrupted)
			}
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	a.agentFlag(cmd)
	return cmd
}

// takeTurn takes a turn, and prints what came of it.
func (a *app) takeTurn(cmd *cobra.Command, f *agentFlags, arg string) error {
	ctx := cmd.Context()
	config, err := a.config()
	if err != nil {
		return err
	}
	turn, err := f.turn(cmd, a, config)
	if err != nil {
		return err
	}
	prompt, err := a.prompt(ctx, arg)
	if err != nil {
		return err
	}
	l, err := a.linkWith(ctx, config)
	if err != nil {
		return err
	}
	defer l.close()
	if !turn.Raw {
		stop := a.progress("starting the tools")
		l.awaitTools(ctx)
		stop()
		a.warn(l.problems())
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	turn.Client = l.client()
	feed := bus.NewFeed(l.conn)
	defer a.endLate(ctx, feed.Close)
	turn.Fact = feed.Publish
	if turn.Bind {
		store, err := session.Open(ctx, l.conn, turn.Logger)
		if err != nil {
			return err
		}
		defer a.endLate(ctx, store.Close)
		opened := func(context.Context) (*session.Store, error) { return store, nil }
		redactor, err := run.NewRedactor(config, turn.Provider.Key)
		if err != nil {
			return err
		}
		mask := redactor.ForSessions(config).Message
		turn.Transcript = &transcript{session.Transcript{Store: opened, Key: f.session, Mask: mask}, a.warn}
		if l.node != nil && config.Bus.StoreDir == "" {
			a.warn([]string{"session " + f.session + " ends with this process: set bus.storeDir, or use a running bus with --bus"})
		}
	}
	s := &screen{a: a, quiet: f.quiet}
	turn.Observe = s.observe
	stop, err := a.askApprovals(ctx, l, s, turn.Identity, a.asks && arg != "-")
	if err != nil {
		return err
	}
	report, err := turn.Run(ctx, prompt)
	stop()
	if err != nil {
		return err
	}
	return a.finishTurn(s, report)
}

// prompt is what the model is asked.
func (a *app) prompt(ctx context.Context, text string) (string, error) {
	const what, mend = "the prompt", "put large data where tools can read it"
	var err error
	switch {
	case text == "-":
		if text, err = a.text(ctx, "-", what, maxPrompt, mend); err != nil {
			return "", err
		}
	case len(text) > maxPrompt:
		return "", fmt.Errorf("%s is longer than %d bytes: %s", what, maxPrompt, mend)
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the prompt is empty: say what the model is to do")
	}
	return text, nil
}

// endLate ends something of a turn, whether the turn was cancelled or not.
func (a *app) endLate(ctx context.Context, end func(context.Context) error) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := end(late); err != nil {
		a.warn([]string{err.Error()})
	}
}

// turnOutput is the one JSON object of a turn.
type turnOutput struct {
	Text  string             `json:"text"`
	Stop  string             `json:"stop"`
	Error string             `json:"error,omitempty"`
	Turn  *schemas.TurnEntry `json:"turn"`
}

// finishTurn says how the turn ended, and gives the exit code.
func (a *app) finishTurn(s *screen, report *agent.Report) error {
	e := &report.Entry
	if a.json {
		a.printJSON(turnOutput{Text: report.Text, Stop: e.Stop, Error: e.Error, Turn: e})
	} else {
		s.end(report)
	}
	switch e.Stop {
	case schemas.StopAnswered:
		return nil
	case schemas.StopCancelled:
		return exit(exitInterrupted)
	default:
		return exit(exitFailed)
	}
}

// transcript is the session of a turn. It says so where the log, which is for errors, doesn't.
type transcript struct {
	session.Transcript
	warn func([]string)
}

func (t *transcript) Turn(ctx context.Context, entry schemas.TurnEntry) error {
	err := t.Transcript.Turn(ctx, entry)
	if err != nil { // the turn is over, and can't end otherwise for it
		t.warn([]string{"the session has no record of what the turn came to: " + message(err)})
	}
	return err
}
