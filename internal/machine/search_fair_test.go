package machine

import (
	"fmt"
	"strings"
	"time"
)

// fairly goes on from a state as if nothing failed any more: all that is under way arrives, the
// frozen go on, and a lease is released at once. It returns how long it takes until no living
// caller waits, and what is broken by then. The state stays what it is.
func (w *world) fairly(c *copier, trace *strings.Builder) (waited time.Duration, broken string) {
	f := w.fork()
	for p, pr := range f.procs {
		if !pr.dead {
			f.own(c, p)
			f.procs[p].frozen = false
		}
	}
	for f.broken == "" && f.waits() {
		if f.now.Sub(w.now) > f.bounds.promise() {
			return f.now.Sub(w.now), waitsTooLong
		}
		s, ok := f.nextFair()
		if !ok {
			return f.now.Sub(w.now), waitsTooLong
		}
		if trace != nil {
			fmt.Fprintf(trace, "   - %s\n", f.text(s))
		}
		f.do(s)
		if trace != nil {
			trace.WriteString(f.print())
		}
	}
	return f.now.Sub(w.now), f.broken
}

// waits reports whether a living caller waits.
func (w *world) waits() bool {
	for _, pr := range w.procs {
		if !pr.dead && len(pr.waiting) > 0 {
			return true
		}
	}
	return false
}

// nextFair is the next step where nothing fails.
func (w *world) nextFair() (s step, ok bool) {
	for i, m := range w.net {
		switch pr := w.procs[m.proc]; {
		case m.kind == requestMessage || m.kind == subscribeMessage:
			return step{runs, uint8(i), 0}, true
		case pr.dead:
		case m.kind == silence && m.r == nil, m.r != nil && w.now >= m.givesUpAt():
			return step{givesUpAnswer, uint8(i), 0}, true
		case m.kind != silence:
			return step{arrives, uint8(i), 0}, true
		}
	}
	for i, pr := range w.procs {
		switch {
		case pr.dead:
		case len(pr.turns) > 0:
			return step{releases, uint8(i), 0}, true
		case pr.p.sub.Confirmed && w.server.listens[i] != pr.p.sub.attempt:
			return step{noticesBreak, uint8(i), 0}, true
		case pr.due(w.now):
			return step{timersFire, uint8(i), 0}, true
		}
	}
	return step{}, w.nextTime() < 1<<62
}

// promise is how long a living caller waits at most for a name that nobody uses: until the lock key
// of a holder that died is gone, and until it polls then. All else that may be lost costs less.
func (b *searchBounds) promise() time.Duration { return b.ttl + grid }
