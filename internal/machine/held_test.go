package machine

import "testing"

// The schedule counts the tenures that are held.
func TestWhatIsHeldIsCounted(t *testing.T) {
	p, _ := newTestProcess(Settings{})
	held := func(about string, want int) {
		t.Helper()
		if got := p.Schedule.Held; got != want {
			t.Errorf("%s: %d are held, want %d", about, got, want)
		}
	}
	tenure := func(id string, to phase) *Tenure {
		t := &Tenure{ID: id, local: &Name{p: p, Kind: p.defaultKind}}
		t.setPhase(to)
		return t
	}
	first, second, third := tenure("1", holding), tenure("2", holding), tenure("3", queued)
	first.setPhase(releasing)
	held("one is leaving", 1)
	p.end(first, 0)
	held("it has left", 1)
	p.end(third, 0)
	held("one that waited gave up", 1)
	p.end(second, 0)
	held("the other was lost", 0)
}
