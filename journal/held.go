package journal

import (
	"errors"
	"iter"
	"time"
)

// HeldSince returns when the holders of a semaphore or reader-writer lock got it, by their
// owners. Redis does not store that. The entries are those of its name, the newest first,
// as [Read] yields them.
//
// The journal does not identify a lease in Redis. So the result has no owner that
// occurs twice or is empty. For any other owner the newest grant without an end counts.
// It can be the grant of a process with the same owner that was killed, while the journal
// has no newer one. HeldSince reads no further than it needs, and ends at an error.
func HeldSince(entries iter.Seq2[Entry, error], owners []string) map[string]time.Time {
	open := map[string]bool{} // owners without an answer; false: it cannot have one
	for _, owner := range owners {
		_, twice := open[owner]
		open[owner] = !twice && owner != ""
	}
	for owner, once := range open {
		if !once {
			delete(open, owner)
		}
	}
	type lease struct {
		writer string
		token  int64
	}
	ended, released := map[lease]bool{}, map[int64]bool{} // released: exported holds, by any Writer
	since := map[string]time.Time{}
	if len(open) == 0 {
		return since
	}
	for e, err := range entries {
		if err != nil && !errors.Is(err, ErrEntry) {
			break
		}
		if err != nil || e.Token == 0 {
			continue
		}
		l, at := lease{e.Writer, e.Token}, e.At
		switch {
		case e.Event == Exported && !released[e.Token]: // the hold goes on
			at = e.At.Add(-e.Held)
		case e.Event == Released:
			released[e.Token], ended[l] = true, true
			continue
		case e.Event.ends():
			ended[l] = true
			continue
		case e.Event != Granted:
			continue
		}
		if open[e.Owner] && !ended[l] {
			since[e.Owner] = at
			delete(open, e.Owner)
		}
		if ended[l] = true; len(open) == 0 {
			break
		}
	}
	return since
}
