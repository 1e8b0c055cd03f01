package connect

import (
	"slices"
	"testing"
)

// The keys are those in the documents, for each prefix with or without braces.
func TestKeysBeside(t *testing.T) {
	if got, want := KeysBeside("p:a"), []string{"p:a", "holdfast/fence:{p:a}", "holdfast/queue:{p:a}"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := KeysBeside("{p}:a"), []string{"{p}:a", "holdfast/fence::{p}:a", "holdfast/queue::{p}:a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
