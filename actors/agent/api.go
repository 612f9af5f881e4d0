// Package agent takes a model's turn: it asks a provider, calls the tools that the model asks for, and goes on until the
// model has answered (V4). Which tools a model sees, and how it reaches the others, is its run's surface: every tool,
// Tool Search, or Code Mode (ch. 3, ch. 19).
//
// A turn is a client of the bus like any other. It opens a run, which keeps the catalog, the policy and the calls, and
// closes it.
//
// # Duties of the caller
//
//   - Give a [Turn] a client, a provider and an identity of its own: two turns with one identity would share a run.
//   - Cancel the context to stop it. What it has started is ended before Run returns.
package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Limits bound a turn. Zero values are no bound, but for Requests, which is then 40.
type Limits struct {
	Requests int
	// Tokens and CostUSD bound all requests together. They are checked before each.
	Tokens  int64
	CostUSD float64
	Timeout time.Duration
}

// Transcript is the session that a turn belongs to. Its methods may block.
type Transcript interface {
	// History gives what was said before, oldest first.
	History(ctx context.Context) ([]schemas.MessageEntry, error)
	// Say adds a message.
	Say(ctx context.Context, message schemas.MessageEntry) error
	// Turn adds what the turn has come to (L5).
	Turn(ctx context.Context, entry schemas.TurnEntry) error
}

// Turn is one turn of an agent. Its fields must not change while it runs.
type Turn struct {
	Client   *bus.Client
	Provider Provider
	Identity schemas.Identity
	// Mode is how the model is to reach its tools; empty is [schemas.ModeAuto]. Raw leaves it without any.
	Mode schemas.Mode
	Raw  bool
	// Bind records the run in the transcript of the identity's session.
	Bind bool
	// Instructions are what the model is told first; empty says something short of our own.
	Instructions string
	Limits       Limits
	// Price is what the model costs; zero is unknown.
	Price schemas.Price
	// ContextTokens is the size of the model's context window; 0 is unknown. Of earlier messages, the last that fit into
	// half of it are sent.
	ContextTokens int
	// Transcript may be nil: nothing was said before, and nothing is kept.
	Transcript Transcript
	// Observe, if set, hears what happens, in order, on the turn's goroutines one at a time. It must not block for long.
	Observe func(Event)
	// Fact publishes a fact; nil publishes none.
	Fact   func(any)
	Debug  Debug
	Logger *slog.Logger
}

// Event is something that happens in a turn: one of the types below.
type Event any

type (
	// Opened says that the run is open, and what the model sees.
	Opened struct {
		Host, Run string
		Surface   schemas.Surface
	}
	// Delta is a piece of the model's answer, as it comes.
	Delta struct{ Text string }
	// Retrying says that a request is sent again after Wait. Pieces of this answer that came are void.
	Retrying struct {
		Attempt int
		Wait    time.Duration
		Why     string
	}
	// Calling says that the model calls a tool.
	Calling struct {
		ID, Name string
		// Title is an exec's title; Arguments are as the model wrote them.
		Title, Arguments string
	}
	// Called says that the call has its answer, which is what the model reads.
	Called struct {
		ID, Name string
		Text     string
		Failed   bool
		Duration time.Duration
	}
	// Asked says that an answer has come. The counts are those of the turn so far.
	Asked struct {
		Requests int
		Usage    schemas.Usage
		CostUSD  float64
	}
)

// Report is how a turn ended.
type Report struct {
	// Text is the model's answer, or, if it has none, the last that it said.
	Text string
	// Entry has the counts, and why it ended: Entry.Stop is one of the Stop constants.
	Entry schemas.TurnEntry
	// Uncounted is how many answers came without a word of what they cost. Entry.Usage lacks them; Limits.Tokens takes
	// them for as many tokens as their bytes make.
	Uncounted int
}
