package schemas

const (
	// MaxBroughtTools and MaxBroughtBytes bound the tools that callers bring for one run, all of them together: how many, and
	// how many bytes their names, texts and schemas have.
	MaxBroughtTools = 128
	MaxBroughtBytes = 1 << 20
)

// Bring offers tools of a caller's own for one run (S8). What it says of their source, tier and owner isn't believed, nor
// that they are replay-safe, idempotent, awaitable or direct-only.
type Bring struct {
	// Identity is that of the run: only its own caller may bring tools.
	Identity Identity `msgpack:"identity"`
	// Client is an id that the caller makes up, a token of a subject: the calls go to it.
	Client string `msgpack:"client"`
	// Tools are all that this client offers from now on, in place of what it offered before; none takes them back. Of
	// tools of one name, that which was brought last is called.
	Tools []Tool `msgpack:"tools,omitempty"`
}

// Brought answers [Bring]: new cells see the tools. Cells that run or are parked keep their catalog.
type Brought struct {
	// Surface is what a model is to be shown from now on.
	Surface Surface `msgpack:"surface"`
	// Problems are tools that can't be used, with the reason.
	Problems []string `msgpack:"problems,omitempty"`
	Err      *Error   `msgpack:"err,omitempty"`
}

// Size is what a tool counts for under [MaxBroughtBytes].
func (t *Tool) Size() int {
	return len(t.Name) + len(t.Label) + len(t.Description) + len(t.Parameters) + len(t.Output)
}
