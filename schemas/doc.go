// Package schemas says what travels: the Go type of every message on the bus, the
// shapes that models and users see (as Go types and as JSON Schemas), the closed list
// of error codes, ids, the configuration, and the one codec.
//
// Rules for messages:
//
//   - One subject carries one Go type, proved by one golden file. A message has no type field.
//   - Within v1 fields are only added. A break is a v2 served beside v1.
//   - No maps and no time.Time: a map decodes in random order and a time.Time has two
//     encodings. Times are Unix nanoseconds, durations say their unit in the name.
//   - User values are opaque JSON bytes ([JSON]): a JSON number keeps its digits from the
//     tool to the guest and back.
//
// Decoding is a security boundary: every message is read by [Decode] and nothing else.
package schemas
