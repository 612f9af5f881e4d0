// Package catalog turns the tools that a run may use into what its guests and models see:
// one winner a name, callable names, search, hints, declarations and the texts of the
// exec and wait tools.
//
// Everything here is a pure function of the tools given to [Build]: no clock, no disk, no
// network, and equal sets of tools give equal bytes whatever their order. A [Catalog] never
// changes and may be used by any number of goroutines.
//
// Trust (SPEC C7, C9, A5): texts and schemas of native tools are trusted. Those of MCP servers
// and of clients aren't: they never reach a prompt, their schemas are never searched, and
// they give no hints. They are shown to a guest that asks for them, and whoever passes them on is told
// that they are untrusted.
package catalog
