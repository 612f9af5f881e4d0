// Package session keeps the transcripts of sessions: trees of entries in a JetStream stream, and the values that
// programs store, which are entries too (T3).
//
// What is pure is apart: a [Tree] is the entries of one session, a [Branch] the path to one of them through forks, with
// the values that were committed on it. [Interrupted] and [Branch.Export] read a branch.
//
// A [Session] is the way of a host's runs to one transcript. Appending never blocks: entries wait in a bounded queue, and
// one goroutine a session, which lives as long as the queue isn't empty, publishes what has gathered, one message at a
// time. Each message names the sequence that it follows, so that two hosts never write over each other: who comes second
// reads what the other has added, and appends behind it.
package session
