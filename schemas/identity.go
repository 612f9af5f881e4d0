package schemas

// Identity is who a run acts for. It is fixed when the run is opened; every nested call
// carries it (P2), and a wait must show the same one (W2).
type Identity struct {
	// Agent is the configured agent, the key of agents.entries; "default" where there is none. Runs refuse an empty one.
	Agent string `msgpack:"agent" json:"agent"`
	// SessionID is one conversation; SessionKey is the name under which a session is found again.
	SessionID  string `msgpack:"session_id" json:"sessionId"`
	SessionKey string `msgpack:"session_key" json:"sessionKey"`
	// Run is the caller's own id of the run.
	Run     string `msgpack:"run" json:"run"`
	Sender  string `msgpack:"sender,omitempty" json:"sender,omitempty"`
	Channel string `msgpack:"channel,omitempty" json:"channel,omitempty"`
	Sandbox string `msgpack:"sandbox,omitempty" json:"sandbox,omitempty"`
	// Depth is how many agents stand between the run and the one that somebody started: 0 for that one (G10).
	Depth int `msgpack:"depth,omitempty" json:"depth,omitempty"`
	// Restricted: background work. The model is shown what it would be otherwise, while tools.restricted applies to each
	// call (A6).
	Restricted bool `msgpack:"restricted,omitempty" json:"restricted,omitempty"`
}

// Address names a cell on the bus.
type Address struct {
	Host string `msgpack:"host" json:"host"`
	Run  string `msgpack:"run" json:"run"`
	// Cell is the public runId.
	Cell string `msgpack:"cell" json:"cell"`
}
