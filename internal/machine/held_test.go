package machine

import "testing"

// The schedule counts the tenures that are held.
func TestWhatIsHeldIsCounted(t *testing.T) {
	c, _ := newTestClient(Settings{})
	held := func(about string, want int) {
		t.Helper()
		if got := c.Schedule.Held; got != want {
			t.Errorf("%s: %d are held, want %d", about, got, want)
		}
	}
	tenure := func(id string, to phase) *Tenure {
		t := &Tenure{ID: id, name: &Name{client: c, contact: &contact{}, Kind: c.defaultKind}}
		t.setPhase(to)
		return t
	}
	first, second, third := tenure("1", holding), tenure("2", holding), tenure("3", queued)
	first.setPhase(releasing)
	held("one is leaving", 1)
	c.endTenure(first, 0)
	held("it has left", 1)
	c.endTenure(third, 0)
	held("one that waited gave up", 1)
	c.endTenure(second, 0)
	held("the other was lost", 0)
}
