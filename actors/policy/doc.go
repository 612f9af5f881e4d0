// Package policy decides, and does nothing else: which tools a run has (F4), whether Code Mode or
// Tool Search presents them (F1, F3, A1–A3), and what the model then sees (A2). Its functions are pure: the same configuration, identity
// and tools give the same answer, and nothing is kept between calls.
//
// It fails closed. The zero [Rules] allow nothing, a configuration that is missing allows nothing,
// and a list that is there but empty allows nothing.
package policy
