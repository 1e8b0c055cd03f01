package machine

import (
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/tokens"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// TryAnswered takes the answer of a server without a queue. An id serves one try, and the server
// undoes what the try has left.
func (r *Request) TryAnswered(a wire.Answer, err error, now clock.Instant) {
	n, t := r.Local, r.Tenure
	t.openLocks, t.sentWait = 0, false
	if n.tenure != t || t.phase != asked { // it was given up
		return
	}
	n.Asking = nil
	switch {
	case err != nil:
		n.failed(err, r.Sent, now)
	case a.Word == "granted":
		n.lockGranted(r, a, now)
		return
	case a.Word == "too slow":
		n.tooSlow(now, now.Sub(r.Sent))
		return
	default:
		n.polls(r, a, now)
	}
	n.P.end(t, now)
	n.step(now)
}

// polls notes that a try was lost, and when the next one is due.
func (n *Name) polls(r *Request, a wire.Answer, now clock.Instant) {
	n.failingSince = 0
	if a.Holder != "" {
		n.seen = seenIn(a, now)
		n.P.Host.Note(Event{What: Queueing, Name: n.Name, Holder: labelOf(a.Holder), Remaining: a.PTTL})
	}
	if a.Word == "held" {
		n.rejectTries(now)
	}
	n.askAt = now.Add(a.PollIn)
	if a.Word == "held" && !r.Waits && n.waiters.anyBlocking() { // a caller that came meanwhile has no mark on the nodes yet
		n.askAt = now
	}
}

// servesPresent: without a queue nobody can recall a tenure. It serves the callers that wait here
// now, as far as its tokens last, and ends.
func (n *Name) servesPresent(t *Tenure, g grant) {
	t.tokens = tokens.From(g.base, g.size)
	t.servesUpTo = max(1, n.admitted)
	if w := n.waiters.first; w != nil {
		t.servesUpTo = min(t.servesUpTo, w.number+g.size-1)
	}
}
