package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/schemas"
)

func (a *app) execCommand() *cobra.Command {
	var in schemas.ExecInput
	var how execHow
	cmd := &cobra.Command{
		Use:   "exec [flags] FILE|-",
		Short: "Run a program",
		Long: `Runs the program in FILE, or from standard input for "-", in a new cell, and prints what it emitted and its value.

A program that hands the turn back (yield_control) or whose tools are slow leaves a waiting cell. On a running host
(--bus), "codecell wait" goes on with it in the same session; --wait does so at once, until the program has ended.
Ctrl-C cancels the program.

With --dry-run, only tools whose owners say that they change nothing are really called. Every other call is answered by a
placeholder of the shape that its tool declares, and listed at the end.

Exit codes: 0 completed, 1 failed, 2 usage or configuration error, 3 waiting.`,
		Example: `  codecell exec --title "Sum" - <<< 'return 1 + 2'
  codecell exec --title "Weekly report" --wait report.js
  codecell exec --dry-run cleanup.js`,
		Args: exactly("FILE (or - for standard input)"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if in.Code, err = a.source(cmd.Context(), args[0]); err != nil {
				return err
			}
			switch {
			case in.Title != "":
			case args[0] == "-":
				in.Title = "Program from standard input"
			default:
				in.Title = filepath.Base(args[0])
			}
			if in.Language == "" && filepath.Ext(args[0]) == ".ts" {
				in.Language = schemas.LanguageTypeScript
			}
			return a.exec(cmd.Context(), in, how)
		},
	}
	cmd.Flags().StringVar(&in.Title, "title", "", "what the program does, in at most 120 characters (default the file's name)")
	cmd.Flags().StringVar(&in.Language, "language", "",
		"javascript or typescript, for hosts of the contract 2026-07 (default by the file's name)")
	cmd.Flags().BoolVar(&in.AwaitResults, "await-results", false,
		"keep the call open until the tools have answered, instead of ending as waiting")
	cmd.Flags().BoolVar(&in.RestartSafe, "restart-safe", false, "let the program call only tools that change nothing")
	cmd.Flags().BoolVar(&how.wait, "wait", false, "go on with a waiting program until it has ended")
	cmd.Flags().BoolVar(&how.dryRun, "dry-run", false, "call only tools that change nothing, and list the calls that would be made")
	a.identityFlags(cmd)
	a.boundFlag(cmd)
	return cmd
}

// source reads the program.
func (a *app) source(ctx context.Context, path string) (string, error) {
	return a.text(ctx, path, "the program", schemas.MaxCodeBytes, "pass large data through tools")
}

// execInput is the input of exec as a model would give it. The host judges it, as it does a model's.
func execInput(in schemas.ExecInput) (schemas.JSON, error) {
	input := map[string]any{"title": in.Title, "code": in.Code}
	if in.Language != "" {
		input["language"] = in.Language
	}
	if in.AwaitResults {
		input["awaitResults"] = true
	}
	if in.RestartSafe {
		input["restartSafe"] = true
	}
	return json.Marshal(input)
}

// execHow is how a program is run, beside its input.
type execHow struct {
	// wait goes on until the program has ended; dryRun makes only calls that change nothing.
	wait, dryRun bool
}

// exec runs a program and prints what came of it.
func (a *app) exec(ctx context.Context, in schemas.ExecInput, how execHow) error {
	input, err := execInput(in)
	if err != nil {
		return err
	}
	l, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	a.warn(l.problems())
	client := l.client()
	run, err := client.Open(ctx, schemas.Open{Identity: a.identity(), Ephemeral: true, Bind: !a.unbound, DryRun: how.dryRun})
	if err != nil {
		return err
	}
	defer a.showApprovals(ctx, l, func(at schemas.Address) bool { return at.Host == run.Host && at.Run == run.ID })()
	if err := ctx.Err(); err != nil {
		return err // nothing has begun
	}
	callID := newCallID("cli")
	result, err := a.ask(ctx, "running", func(ctx context.Context) (*schemas.Result, error) {
		return run.Exec(ctx, schemas.Exec{CallID: callID, Input: input})
	}, func(ctx context.Context) error { return run.Abort(ctx, callID, interruptReason) })
	if err != nil {
		return err
	}
	if how.wait {
		return a.waitOut(ctx, client, result)
	}
	if l.node != nil {
		return a.finish(result, "The cell ends with this process. Use --wait to go on here, or start a host with "+
			"`codecell up --listen 127.0.0.1:4222` and run against it with --bus.")
	}
	return a.finish(result, a.goOn(result))
}

// goOn is the command line that goes on with a waiting program.
func (a *app) goOn(result *schemas.Result) string {
	words := []string{"go on with: codecell wait", result.RunID}
	for _, flag := range []struct{ name, value, def string }{
		{"bus", a.bus, ""}, {"config", a.configPath, ""}, {"session", a.session, defaultSession}, {"agent", a.agent, schemas.DefaultAgent},
	} {
		if flag.value != flag.def {
			words = append(words, "--"+flag.name, quoted(flag.value))
		}
	}
	if a.unbound {
		words = append(words, "--no-session")
	}
	return strings.Join(words, " ")
}

// quoted makes one word for a shell.
func quoted(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+,=", r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

const (
	// interruptReason is what the feed says of a program that Ctrl-C ended.
	interruptReason = "interrupted"
	// endAgain is the pause before a program that hasn't answered is told again to end.
	endAgain = time.Second
)

// ask gets a result. A command that is told to end meanwhile ends its program: whoever asked for that doesn't want what is left
// half done, but what the program has said and which calls it has made (E5), so the result is still waited for.
func (a *app) ask(
	ctx context.Context, doing string, request func(context.Context) (*schemas.Result, error), end func(context.Context) error,
) (*schemas.Result, error) {
	defer a.progress(doing)()
	type answer struct {
		result *schemas.Result
		err    error
	}
	asked, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	answers := make(chan answer, 1)
	go func() {
		result, err := request(asked)
		answers <- answer{result, err}
	}()
	select {
	case got := <-answers:
		return got.result, got.err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(asked, closeTimeout)
	defer cancel()
	refused := end(late)
	if refused != nil {
		stop()
	}
	again := time.NewTicker(endAgain)
	defer again.Stop()
	text := "interrupted: the program was cancelled"
	var got answer
	for waiting := true; waiting; {
		select {
		case got = <-answers:
			waiting = false
		case <-again.C:
			_ = end(late) // the first may have overtaken the request, and a host doesn't remember calls that it doesn't know
		case <-late.Done():
			stop()
			got, waiting = <-answers, false
			text = "interrupted: the program was told to end, and has not answered"
		}
	}
	if refused != nil {
		text = "interrupted, and the program could not be cancelled: " + message(refused)
	}
	// The request may have come after the end, and then nobody knows the cell any more.
	if got.err == nil && got.result.Status != schemas.StatusWaiting && got.result.Code != schemas.InvalidInput {
		return got.result, nil
	}
	return &schemas.Result{Status: schemas.StatusFailed, Code: schemas.Aborted, Error: text}, nil
}

// finish prints a result and turns it into the exit code. next says how to go on if it is waiting.
func (a *app) finish(result *schemas.Result, next string) error {
	if err := a.printResult(result); err != nil {
		return err
	}
	if result.Status == schemas.StatusWaiting {
		a.note(next)
	}
	switch result.Status {
	case schemas.StatusCompleted:
		return nil
	case schemas.StatusWaiting:
		return exit(exitWaiting)
	default:
		return exit(exitFailed)
	}
}
