//go:build unix

package quorum_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/lab/labtest"

	"github.com/holdfast-go/holdfast"
)

// A Client of a quorum says at once that it has no semaphores and no RWMutex.
func TestQuorumHasNoSharedKinds(t *testing.T) {
	c := labtest.Deploy(t, 3).Client(holdfast.Options{})
	for what, f := range map[string]func() error{
		"Acquire": func() error { _, err := c.Semaphore("n", 2).Acquire(t.Context(), 1); return err },
		"Resize":  func() error { return c.Semaphore("n", 2).Resize(t.Context(), 3) },
		"RLock":   func() error { _, err := c.RWMutex("n").RLock(t.Context()); return err },
		"Lock":    func() error { _, err := c.RWMutex("n").TryLock(t.Context()); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "does not work on a quorum") {
			t.Errorf("%s: got %v, want that a quorum has none", what, err)
		}
	}
}
