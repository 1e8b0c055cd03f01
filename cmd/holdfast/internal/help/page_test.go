package help

import "testing"

// Paragraphs are wrapped, and what is indented stays.
func TestReflowed(t *testing.T) {
	got := reflowed("one\ntwo\n\nEXIT CODES\nthree\nfour\n  a  b\nfive")
	if want := "one two\n\nEXIT CODES\nthree four\n  a  b\nfive"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
