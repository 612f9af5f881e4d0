//go:build !unix

package wasm

func newMapping(uint64) mapping { return &heapMapping{} }
