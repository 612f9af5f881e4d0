package schemas

import "testing"

// BenchmarkWalk measures what the check in front of the decoder costs for an ordinary answer.
func BenchmarkWalk(b *testing.B) {
	msg, _ := Encode(Answer{ID: "1", Executor: "e1", State: AnswerDone, Value: JSON(`{"content":"hello"}`), Untrusted: true})
	for b.Loop() {
		if err := walk(msg, 64); err != nil {
			b.Fatal(err)
		}
	}
}
