package engine

import (
	"sync"

	"github.com/holdfast-go/holdfast/internal/machine"
)

// pending is a waiting call: a waiter of the Client, and a channel for its one outcome. Release
// uses only the channel.
type pending struct {
	machine.LocalWaiter
	ready chan machine.Outcome
}

// waiters is a pool of pending calls, so that their channels are reused. Each engine has its own:
// a channel made inside a testing/synctest bubble must not leave it.
type waiters struct{ pool sync.Pool }

func (p *waiters) get(try bool) *pending {
	w, ok := p.pool.Get().(*pending)
	if !ok {
		w = &pending{ready: make(chan machine.Outcome, 1)}
		w.Call = w
	}
	w.Try = try
	return w
}

// put takes back a pending call that has left the local queue and has its outcome.
func (p *waiters) put(w *pending) {
	w.LocalWaiter = machine.LocalWaiter{Call: w}
	p.pool.Put(w)
}
