package schemas

// Identity is who a run acts for. It is fixed when the run is opened; every nested call
// carries it (P2), and a wait must show the same one (W2).
type Identity struct {
	// Agent is the configured agent, the key of agents.entries. Empty means "default".
	Agent string `msgpack:"agent" json:"agent"`
	// SessionID is one conversation; SessionKey is the name under which a session is found again.
	SessionID  string `msgpack:"session_id" json:"sessionId"`
	SessionKey string `msgpack:"session_key" json:"sessionKey"`
	// Run is the caller's own id of the run.
	Run     string `msgpack:"run" json:"run"`
	Sender  string `msgpack:"sender,omitempty" json:"sender,omitempty"`
	Channel string `msgpack:"channel,omitempty" json:"channel,omitempty"`
	Sandbox string `msgpack:"sandbox,omitempty" json:"sandbox,omitempty"`
}

// Address names a cell on the bus.
type Address struct {
	Host string `msgpack:"host" json:"host"`
	Run  string `msgpack:"run" json:"run"`
	// Cell is the public runId.
	Cell string `msgpack:"cell" json:"cell"`
}
