package cell

import "github.com/codecell/codecell/wasm"

// Image is what guests start from. It has a name here so that a run can pass it on without
// knowing the engine.
type Image = wasm.Image
