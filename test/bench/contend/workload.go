package contend

import "time"

// Workload is what callers do. Callers of a shared name contend; otherwise each
// has names to itself.
type Workload struct {
	Name      string // B1
	Says      string // for people
	Processes int
	Callers   int // in each process
	Shared    bool
	Names     int           // that each caller goes through, one after the other; 0 is 1
	Work      time.Duration // slept while the lock is held
	Linger    time.Duration // holdfast's Options.Linger
	Cancels   bool          // names of its own: under a context that can be cancelled, not context.Background()
	Handover  bool          // measure from a release to the grant in another process
	Long      bool          // twice the window: who starves is seen late
	Close     bool          // twice the rounds: what is compared differs by less than one round from the next
	Limits    []string      // the rows of limits beside it
	Guard     string        // the limit that -check divides by; empty: that of the contender's own client library

	// What a name of the family has, of which each holder takes a part; 0 is 1, and
	// a holder is alone.
	Capacity int64
	Weight   func(caller int) int64 // nil: 1

	Who []string    // takes part; nil: all contenders
	Own []Contender // who takes part in a workload of the family, limits aside
}

// Part is what a caller asks for next.
func (w Workload) Part(caller int) Part {
	p := Part{1, max(w.Capacity, 1)}
	if w.Weight != nil {
		p.Weight = w.Weight(caller)
	}
	return p
}

// Of is the workload as this contender runs it.
func (w Workload) Of(c Contender) Workload {
	if c.Alone {
		w.Processes, w.Callers = 1, 1
	}
	w.Names = max(w.Names, 1)
	return w
}

// Settings are those of the run as a whole.
type Settings struct {
	Rounds int
	Timing Timing
}

// Of is how many rounds of this workload there are.
func (s Settings) Of(w Workload) int {
	if w.Close && s.Rounds > 1 {
		return 2 * s.Rounds
	}
	return s.Rounds
}

// Timing is how a cell's time is spent: first the callers run unmeasured, then
// comes the window, then they run on so that its end is like its middle.
type Timing struct{ Warm, Window, Cool time.Duration }

// Of is the timing in this workload.
func (t Timing) Of(w Workload) Timing {
	if w.Long {
		t.Window *= 2
	}
	return t
}

// The settings of a run that counts, and of one that shows that all of it still runs.
var (
	Full  = Settings{Rounds: 7, Timing: Timing{Warm: 250 * time.Millisecond, Window: 700 * time.Millisecond, Cool: 50 * time.Millisecond}}
	Quick = Settings{Rounds: 1, Timing: Timing{Warm: 30 * time.Millisecond, Window: 60 * time.Millisecond, Cool: 10 * time.Millisecond}}
)
