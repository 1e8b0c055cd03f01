package bench

import "time"

// workload is what callers do. Callers of a shared name contend; otherwise each
// has names to itself.
type workload struct {
	name      string // B1
	says      string // for people
	processes int
	callers   int // in each process
	shared    bool
	names     int           // that each caller goes through, one after the other; 0 is 1
	work      time.Duration // slept while the lock is held
	linger    time.Duration // holdfast's Options.Linger
	cancels   bool          // names of its own: under a context that can be cancelled, not context.Background()
	handover  bool          // measure from a release to the grant in another process
	long      bool          // twice the window: who starves is seen late
	close     bool          // twice the rounds: what is compared differs by less than one round from the next
	limits    []string      // the rows of limits beside it
	guard     string        // the limit that -check divides by; empty: that of the contender's own client library

	// What a name of the family has, of which each holder takes a part; 0 is 1, and
	// a holder is alone.
	capacity int64
	weight   func(caller int) int64 // nil: 1

	who []string    // takes part; nil: all contenders
	own []contender // who takes part in a workload of the family, limits aside
}

// part is what a caller asks for next.
func (w workload) part(caller int) part {
	p := part{1, max(w.capacity, 1)}
	if w.weight != nil {
		p.weight = w.weight(caller)
	}
	return p
}

// of is the workload as this contender runs it.
func (w workload) of(c contender) workload {
	if c.alone {
		w.processes, w.callers = 1, 1
	}
	w.names = max(w.names, 1)
	return w
}

// settings are those of the run as a whole.
type settings struct {
	rounds int
	timing timing
}

// of is how many rounds of this workload there are.
func (s settings) of(w workload) int {
	if w.close && s.rounds > 1 {
		return 2 * s.rounds
	}
	return s.rounds
}

// timing is how a cell's time is spent: first the callers run unmeasured, then
// comes the window, then they run on so that its end is like its middle.
type timing struct{ Warm, Window, Cool time.Duration }

// of is the timing in this workload.
func (t timing) of(w workload) timing {
	if w.long {
		t.Window *= 2
	}
	return t
}

var (
	full  = settings{rounds: 7, timing: timing{Warm: 250 * time.Millisecond, Window: 700 * time.Millisecond, Cool: 50 * time.Millisecond}}
	quick = settings{rounds: 1, timing: timing{Warm: 30 * time.Millisecond, Window: 60 * time.Millisecond, Cool: 10 * time.Millisecond}}
)
