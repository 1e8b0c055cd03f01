package holdfast

import (
	"fmt"
	"time"
)

const (
	stuckAfter    = 2 * time.Second // a wait that is shorter may be one of a moment
	starveFactor  = 10              // times as long as the line would need
	blockedAtMost = time.Minute
)

// head is the first waiter that is there, and its place. Those before it are skipped.
func (s *State) head() (w *Waiter, at int) {
	for i := range s.Waiters {
		if s.Waiters[i].Listening {
			return &s.Waiters[i], i
		}
	}
	return nil, 0
}

// Describe returns the label of the waiter, and what its [Details] add.
func (w *Waiter) Describe() string { return whoIs(w.Owner, w.Details) }

// aboutWaiters says what keeps the first in line.
func (s *State) aboutWaiters(o *DiagnoseOptions) (found []Diagnosis) {
	w, at := s.head()
	if w == nil {
		return nil
	}
	behind := ""
	if n := s.Waiting - at - 1; n > 0 {
		behind = fmt.Sprintf("; %d more wait behind it", n)
	}
	switch {
	case s.fits(w) && w.Waited >= stuckAfter:
		found = append(found, Diagnosis{
			CodeStarving, fmt.Sprintf("%s has been at the head of the queue for %s, although it could have the name%s", w.Describe(), rough(w.Waited), behind),
			"check whether its process hangs or has lost its connection; 'holdfast doctor' shows whether messages arrive. The next client that locks the name makes the queue move",
		})
	case s.starves(w, o):
		found = append(found, Diagnosis{
			CodeStarving, fmt.Sprintf("%s, at the head of the queue, has waited for %s, although %s has held the name for only %s%s", w.Describe(), rough(w.Waited), s.Holder.Describe(), rough(s.Holder.Held), behind),
			"look for a client of another library that takes this name: such clients ignore the queue",
		})
	}
	if s.blocked(w) {
		found = append(found, Diagnosis{
			CodeReadersBlockWriter, fmt.Sprintf("%s, a writer, has waited %s for %s to finish reading%s", w.Describe(), rough(w.Waited), s.whos(), behind),
			"find out why the readers take so long, or run this for each reader: holdfast revoke " + s.tenureFlags() + ". Then the writer is next",
		})
	}
	return found
}

// fits reports whether the first in line could have the name now.
func (s *State) fits(w *Waiter) bool {
	h := s.Holder
	switch {
	case h == nil:
		return true
	case s.Kind == KindSemaphore:
		return s.Size > 0 && w.Part.Permits > 0 && s.Used+w.Part.Permits <= s.Size
	case s.Kind == KindRWMutex:
		return w.Part.Reads && h.Part.Reads
	}
	return false
}

// starves reports whether the first in line waits for longer than the line explains: ten
// times what all in it would need if each had the name as long as its holder has had
// it, its ttl, or its typical time.
func (s *State) starves(w *Waiter, o *DiagnoseOptions) bool {
	h := s.Holder
	if h == nil || h.Cooldown || h.Held <= 0 {
		return false // for how long it is held is not known
	}
	typical, _ := o.typical(s.Name)
	turn := max(h.Held, h.TTL, typical)
	return w.Waited/starveFactor > time.Duration(s.Waiting+1)*turn
}

// blocked reports whether readers keep a writer waiting.
func (s *State) blocked(w *Waiter) bool {
	if s.Kind != KindRWMutex || !w.Part.Writes || s.Holder == nil || !s.Holder.Part.Reads {
		return false
	}
	longest := time.Duration(0)
	for i := range s.Holders {
		longest = max(longest, s.Holders[i].TTL)
	}
	return w.Waited > min(longest, blockedAtMost)
}
