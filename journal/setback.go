package journal

import "time"

// setBack is a moment at which the server's clock went back: it was set, or another server with
// a slower clock took over. Entries before it then seem later than entries after it. (A clock
// that goes forward changes the order only in the second in which Writers do not know it, and
// looks like the sleep of a Writer's machine.)
type setBack struct {
	before, after time.Time // the entries of one Writer between which it was, each by the clock of its time
	by            time.Duration
}

// setBacks are those that were seen.
type setBacks []setBack

// lateToKnow is for how long a Writer may go on with the clock that was.
const lateToKnow = time.Second

// compare looks for a set-back between two entries of a Writer: less time has passed by the
// server's clock than by the Writer's, which never goes back and is slow by drift at most.
func (b *setBacks) compare(last, e *Entry) {
	passed := e.Local - last.Local
	by := passed - e.At.Sub(last.At)
	within := e.Uncertainty + last.Uncertainty + drift(passed) + 10*time.Microsecond // which is more than rounding
	if by > within {
		*b = append(*b, setBack{last.At, e.At, by + within})
	}
}

// between is how much later than it was s may seem against t, of another Writer.
func (b setBacks) between(s, t span) (most time.Duration) {
	if s.writer != "" && s.writer == t.writer {
		return 0
	}
	for i := range b {
		if b[i].touches(s) || b[i].touches(t) {
			most = max(most, b[i].by)
		}
	}
	return most
}

func (b *setBack) touches(s span) bool {
	near := b.by + lateToKnow
	return s.latest.After(b.before.Add(-near)) && s.earliest.Before(b.after.Add(near))
}

func (b setBacks) longest() (most *setBack) {
	for i := range b {
		if most == nil || b[i].by > most.by {
			most = &b[i]
		}
	}
	return most
}
