package schemas

// Bounds of namespaces.
const (
	// MaxNamespaces is how many namespaces an executor may register under one owner.
	MaxNamespaces = 32
	// MaxNamespaceTools bounds the required tools of a namespace.
	MaxNamespaceTools = 64
	// MaxNamespaceText bounds its description and its prompt, in bytes each.
	MaxNamespaceText = 4096
	// MaxScopeBytes bounds the JSON of a scope, MaxScopeDepth its nesting.
	MaxScopeBytes = 64 << 10
	MaxScopeDepth = 16
	// MaxScopeArgs is how many arguments a callable of a scope may have.
	MaxScopeArgs = 16
)

// Namespace is an object that an owner of native tools puts before programs: data, and ways to call its tools (K1).
// Programs have it only if the run's catalog has every required tool, and has it from that owner.
type Namespace struct {
	// ID is unique among the namespaces of its owner.
	ID string `msgpack:"id" json:"id"`
	// Global is the name under which programs find it, and the key in `namespaces`: an identifier.
	Global string `msgpack:"global" json:"globalName"`
	// Description says in a line what it is for; Prompt says to a model how to use it. They are trusted texts.
	Description string `msgpack:"description,omitempty" json:"description,omitempty"`
	Prompt      string `msgpack:"prompt,omitempty" json:"prompt,omitempty"`
	// RequiredTools are names of the owner's tools. Its callables reach no others.
	RequiredTools []string `msgpack:"required_tools" json:"requiredToolNames"`
}

// ScopeAsk asks the owner of a namespace what it holds for a run.
type ScopeAsk struct {
	Namespace string   `msgpack:"namespace"`
	Identity  Identity `msgpack:"identity"`
}

// Scope answers [ScopeAsk]. Its JSON is an object: data, and in it {"$tool": name} for a callable, whose argument is the
// tool's input. {"$tool": name, "input": template} makes the input of a template instead, in which {"$arg": N} stands for
// the N-th argument, counted from 0.
type Scope struct {
	JSON JSON   `msgpack:"json,omitempty"`
	Err  *Error `msgpack:"err,omitempty"`
}
