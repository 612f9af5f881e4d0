// Package tool is the executor's side of a nested call: it offers tools on the bus, takes
// calls from it, and answers them.
//
//	Provider  what can be called: Go functions ([Funcs]), the core file tools ([Core]),
//	          an MCP server ([MCP])
//	Executor  keeps the providers' registrations alive, takes calls from the tool
//	          subjects, and bounds how many run ([Start])
//	pipeline  input schema → policy → before hooks → approval → dispatch → output schema →
//	          after hooks → record (P1); nothing reaches a provider by another way
//
// A call runs at most once here: a second delivery of it is answered from memory or not at
// all (U2). Every failure is a [schemas.CallError] that says where it arose and whether
// the tool may have acted (E3).
package tool
