// Package approval lets people decide about single calls (P3): an executor asks before it runs a call, and somebody with
// the permission to publish on its decide subjects answers.
//
//	Gate     the executor's side: grants first, then a pending approval, then the wait for its end
//	ticket   one call that waits; its goroutine alone decides how it ends, so that one decision counts
//	grant    at most N further calls of one tool whose input matches a schema, in a cell, run or session
//
// What can't be recorded isn't allowed: without the buckets of [bus.ApprovalBook] every call that needs an approval is
// refused.
package approval
