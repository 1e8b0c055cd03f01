//go:build unix

package cli

import (
	"errors"
	"testing"
)

// What the library says of itself does not stand twice in a line.
func TestReason(t *testing.T) {
	inner := errors.New("holdfast: refused")
	if got, want := Reason(errors.Join(errors.New("first"), inner)), "refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
