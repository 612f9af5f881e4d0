// Package wasm runs guest programs: JavaScript, in a QuickJS virtual machine, inside WebAssembly, inside this process.
//
// One Engine a process holds the compiled module. An Image is the memory of a machine in which the controller (the guest's
// own JavaScript, in guest/js) and one catalog are installed; it is made once for each catalog. A Guest is one running
// program: it starts as a copy of its image, runs in legs, and between two legs it can be frozen into a snapshot and
// restored later, in another instance.
//
// A leg is one stretch of guest computation: Start or Resume runs the machine until no job is left, and returns what it
// asked for, what it printed, and how it ended. Nothing in a leg waits: requests are collected, and the caller answers
// them in a later leg.
//
// What the caller can rely on, whatever the program does:
//
//   - a leg ends within milliseconds of its context's end, and never keeps the garbage collector waiting longer than that
//     (the module is metered, see package meter);
//   - the machine's memory stays within Limits.MemoryBytes and a fixed overhead, and what it makes this process hold (output,
//     requests, rejections) is bounded by the other limits;
//   - a guest whose leg was stopped or trapped is poisoned: it never runs again, is never snapshotted, and its instance is
//     never reused;
//   - guests share nothing: each has its own instance, memory, clock and random numbers.
package wasm
