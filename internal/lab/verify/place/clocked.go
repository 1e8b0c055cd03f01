//go:build linux

package place

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/lab/verify/wallclock"
)

// Clocked reports whether the servers' wall clocks can be moved.
func (k Kind) Clocked() bool { return k == Clocked || k == ClockedQuorum }

// clock is the environment of the next server: that of a clock of its own, where
// the kind has clocks.
func (p *Place) clock(t testing.TB) []string {
	t.Helper()
	if !p.Kind.Clocked() {
		return nil
	}
	c := wallclock.Start(t)
	p.Clocks = append(p.Clocks, c)
	return c.Env()
}
