package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// TestTranscript runs the programs of testdata/transcript through the whole system in virtual time, and compares every
// message on the bus with the golden one. Run it with -update to rewrite them, and review the diff.
func TestTranscript(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "transcript", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	engine, err := wasm.NewEngine(t.Context(), wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	archives := make([]*txtar.Archive, len(files))
	for i, file := range files {
		if archives[i], err = txtar.ParseFile(file); err != nil {
			t.Fatal(err)
		}
	}
	// All in one bubble: nats.go keeps timers in a pool, and those of one bubble must not be used in another.
	passed := make([]transcript, len(files))
	synctest.Test(t, func(t *testing.T) {
		for i := range files {
			passed[i] = play(t, engine, archives[i])
		}
	})
	for i, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			compare(t, file, archives[i], map[string]string{"commands": passed[i].commands(), "facts": passed[i].facts()})
		})
	}
}

// behaviour is what a tool of a transcript does.
type behaviour struct {
	Owner   string       `json:"owner"`
	Name    string       `json:"name"`
	AfterMs int          `json:"afterMs"`
	Result  schemas.JSON `json:"result"`
	Error   string       `json:"error"`
}

func (b behaviour) call(ctx context.Context, _ schemas.JSON) (schemas.JSON, error) {
	select {
	case <-time.After(time.Duration(b.AfterMs) * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b.Error != "" {
		return nil, errors.New(b.Error)
	}
	return b.Result, nil
}

// providers makes one provider an owner.
func providers(t *testing.T, text string) []tool.Provider {
	t.Helper()
	owners := map[string][]tool.Func{}
	for _, b := range decode[[]behaviour](t, text) {
		owners[b.Owner] = append(owners[b.Owner], tool.Raw(schemas.Tool{
			Source: schemas.SourceNative, Tier: schemas.TierPlugin, Owner: b.Owner, Name: b.Name, Description: "A tool.",
		}, b.call))
	}
	var all []tool.Provider
	for owner, tools := range owners {
		provider, err := tool.Funcs(owner, tools...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, provider)
	}
	return all
}

// play runs the program of an archive until it has ended, waiting for it as often as it takes, and returns what passed.
func play(t *testing.T, engine *wasm.Engine, archive *txtar.Archive) transcript {
	t.Helper()
	ctx := t.Context()
	server := bustest.Server(t)
	tape := &tape{recorder: bustest.Record(t, server), start: time.Now()}
	executor, err := tool.Start(ctx, bustest.Connect(t, server), tool.Options{Providers: providers(t, section(t, archive, "tools.json"))})
	if err != nil {
		t.Fatal(err)
	}
	defer executor.Close(ctx)
	owner, err := host.Start(ctx, host.Options{Conn: bustest.Connect(t, server), Engine: engine, Config: &schemas.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(ctx)
	tape.settle(t)

	client := bus.NewClient(bustest.Connect(t, server))
	identity := schemas.Identity{Agent: "default", SessionID: "session", SessionKey: "key", Run: "run"}
	run, err := client.Open(ctx, schemas.Open{Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"title": "Transcript", "code": section(t, archive, "program.js")})
	if err != nil {
		t.Fatal(err)
	}
	result := tape.during(t, func() (*schemas.Result, error) {
		return run.Exec(ctx, schemas.Exec{CallID: "exec", Input: input})
	})
	for n := 1; result.Status == schemas.StatusWaiting; n++ {
		result = tape.during(t, func() (*schemas.Result, error) {
			return client.Wait(ctx, schemas.Wait{CallID: fmt.Sprintf("wait-%d", n), Identity: identity, RunID: result.RunID})
		})
	}
	if err := run.Close(ctx, "done"); err != nil {
		t.Fatal(err)
	}
	tape.settle(t)
	return tape.passed
}

// tape notes when in virtual time each message passed.
type tape struct {
	recorder *bustest.Recorder
	start    time.Time
	passed   transcript
	seen     int
}

// transcript is what passed, by moment.
type transcript []moment

// moment is what passed between two looks.
type moment struct {
	at    time.Duration
	lines []string
}

// The tape is read every look, a little after the moments at which things happen: those are multiples of it, or of half.
const (
	look  = 100 * time.Millisecond
	after = 30 * time.Millisecond
)

// next gives the time when the tape is to be read again.
func (p *tape) next() <-chan time.Time {
	return time.After(look - (time.Since(p.start)+look-after)%look)
}

// settle reads what has passed once nothing moves any more without time going on.
func (p *tape) settle(t *testing.T) {
	t.Helper()
	synctest.Wait()
	lines := p.recorder.Lines(t)
	if len(lines) > p.seen {
		fresh := slices.DeleteFunc(slices.Clone(lines[p.seen:]), isChatter)
		p.passed = append(p.passed, moment{time.Since(p.start).Round(look), fresh})
		p.seen = len(lines)
	}
}

// during reads the tape until the call has returned.
func (p *tape) during(t *testing.T, call func() (*schemas.Result, error)) *schemas.Result {
	t.Helper()
	var (
		result *schemas.Result
		err    error
		done   sync.WaitGroup
	)
	over := make(chan struct{})
	done.Go(func() {
		result, err = call()
		close(over)
	})
	for running := true; running; {
		p.settle(t)
		select {
		case <-over:
			running = false
		case <-p.next():
		}
	}
	done.Wait()
	p.settle(t)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// commands renders the messages that ask and answer. Those of one kind that follow each other within a moment come from
// parts that don't know of each other; their order is no part of the contract.
func (s transcript) commands() string {
	var out strings.Builder
	for _, m := range s {
		lines := slices.DeleteFunc(slices.Clone(m.lines), isFact)
		for i := 0; i < len(lines); {
			j := i + 1
			for j < len(lines) && kind(lines[j]) == kind(lines[i]) {
				j++
			}
			slices.Sort(lines[i:j])
			i = j
		}
		render(&out, m.at, lines)
	}
	return out.String()
}

// facts renders the feed, by moment: hosts and executors tell theirs independently.
func (s transcript) facts() string {
	var out strings.Builder
	for _, m := range s {
		lines := slices.DeleteFunc(slices.Clone(m.lines), func(line string) bool { return !isFact(line) })
		slices.Sort(lines)
		render(&out, m.at, lines)
	}
	return out.String()
}

func render(out *strings.Builder, at time.Duration, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(out, "%5.1fs  %s\n", at.Seconds(), surface.ReplaceAllString(line, "surface:…}"))
	}
}

// surface is what a model is shown: long, and tested where it is made.
var surface = regexp.MustCompile(`surface:.*\}$`)

// isChatter tells lines by which parts make sure that others live. When they do is no part of the contract.
func isChatter(line string) bool {
	verb := kind(strings.TrimPrefix(line, "= "))
	return verb == "executor" || verb == "status"
}

func isFact(line string) bool { return strings.HasPrefix(line, "feed.") }

// kind is the verb of a line.
func kind(line string) string {
	verb, _, _ := strings.Cut(line, ".")
	return verb
}

// section returns one file of an archive.
func section(t *testing.T, archive *txtar.Archive, name string) string {
	t.Helper()
	for _, file := range archive.Files {
		if file.Name == name {
			return string(file.Data)
		}
	}
	t.Fatalf("the archive has no section %s", name)
	return ""
}

// compare compares sections of an archive with what came out, or writes them with -update.
func compare(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	for i, file := range archive.Files {
		text, ok := got[file.Name]
		if !ok {
			continue
		}
		if *update {
			archive.Files[i].Data = []byte(text)
		} else if diff := cmp.Diff(strings.Split(string(file.Data), "\n"), strings.Split(text, "\n")); diff != "" {
			t.Errorf("%s changed (-want +got):\n%s", file.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
