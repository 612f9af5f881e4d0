// Package bus says how messages travel: the one table of subjects, the embedded NATS
// server, the connection, typed requests and their answers, values that are larger than a
// message may be, the feed of facts, the registry of executors, and a typed client.
//
// A subject names one Go type of package schemas (see [Rows]), so messages carry no type
// field. A token of a subject is [A-Za-z0-9_-]+; builders accept any text and escape what
// isn't a token, because NATS itself takes "a..b" without an error.
//
// Everything that arrives is hostile until decoded (B4): a malformed message is answered
// with an error or counted, never more.
//
// A handler runs on its subscription's goroutine, one message after the other, and must not
// block: hand the message to an actor or a goroutine. Messages above the payload limit arrive
// on a goroutine of their own (U6), so a handler must also be safe for concurrent calls, and
// order between a large message and a small one isn't kept.
package bus
