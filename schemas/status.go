package schemas

// StatusAsk asks one host who holds what.
type StatusAsk struct{}

// HostStatus answers [StatusAsk].
type HostStatus struct {
	Host     string       `msgpack:"host" json:"host"`
	Version  string       `msgpack:"version" json:"version"`
	Draining bool         `msgpack:"draining,omitempty" json:"draining,omitempty"`
	Slots    SlotCount    `msgpack:"slots" json:"slots"`
	Workers  SlotCount    `msgpack:"workers" json:"workers"`
	Cells    []CellStatus `msgpack:"cells" json:"cells"`
	// FactsDropped counts facts that could not be published.
	FactsDropped uint64   `msgpack:"facts_dropped" json:"factsDropped"`
	Problems     []string `msgpack:"problems,omitempty" json:"problems,omitempty"`
}

// SlotCount is how many of a limited thing are held.
type SlotCount struct {
	Held  int `msgpack:"held" json:"held"`
	Limit int `msgpack:"limit" json:"limit"`
}

// CellStatus is one live cell.
type CellStatus struct {
	Address Address `msgpack:"address" json:"address"`
	Title   string  `msgpack:"title" json:"title"`
	// State is "running", "parked" or "ending".
	State   string `msgpack:"state" json:"state"`
	Pending int    `msgpack:"pending" json:"pending"`
	Slot    bool   `msgpack:"slot" json:"slot"`
	AgeMs   int64  `msgpack:"age_ms" json:"ageMs"`
	// MemoryBytes is the size of its guest, or of the snapshot that it's parked as.
	MemoryBytes int `msgpack:"memory_bytes,omitempty" json:"memoryBytes,omitempty"`
}
