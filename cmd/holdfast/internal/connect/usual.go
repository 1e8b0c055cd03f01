package connect

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// usualWait bounds what is asked of the journal to say more.
const usualWait = 500 * time.Millisecond

// Usual is how long names are usually held, by the journal. It asks the journal once per
// name, because a waiter needs it each second.
type Usual struct {
	Ask   func(ctx context.Context, name string) (time.Duration, bool)
	mu    sync.Mutex               // protects known
	known map[string]time.Duration // 0: not known
}

func newUsual(store driver.Store, prefix string) *Usual {
	return &Usual{Ask: func(ctx context.Context, name string) (time.Duration, bool) {
		return journal.Typical(ctx, store, prefix, name)
	}}
}

// typical is diagnose.Options.Typical.
func (u *Usual) typical(name string) (time.Duration, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, asked := u.known[name]
	if !asked {
		ctx, cancel := context.WithTimeout(context.Background(), usualWait)
		defer cancel()
		d, _ = u.Ask(ctx, name)
		if u.known == nil {
			u.known = map[string]time.Duration{}
		}
		u.known[name] = d
	}
	return d, d > 0
}

// Expected is how long a waiter of ours will wait, by the journal: the rest of this hold
// and a usual hold for each waiter before us. 0: unknown, or no waiter of ours. An
// election and a shared kind give no estimate: a term has no usual length, and several
// hold at a time.
func (u *Usual) Expected(state *admin.State) time.Duration {
	h, before := state.Holder, WaitersBefore(state)
	if u == nil || h == nil || before < 0 || state.Kind != holdfast.KindMutex || state.Term > 0 {
		return 0
	}
	if h.Remaining < 0 || !h.Cooldown && h.Held <= 0 {
		return 0 // it has no end, or no known beginning
	}
	typical, known := u.typical(state.Name)
	switch {
	case h.Cooldown && (known || before == 0):
		return h.Remaining + time.Duration(before)*typical
	case !known:
		return 0
	}
	return max(0, typical-h.Held) + time.Duration(before)*typical
}

// Known is for diagnose.State of one name.
func (u *Usual) Known() *diagnose.Options {
	if u == nil {
		return nil
	}
	return &diagnose.Options{Typical: u.typical}
}

// WaitersBefore is how many waiters stand before us in the queue; -1: we do not wait.
func WaitersBefore(state *admin.State) int {
	return slices.IndexFunc(state.Waiters, func(w admin.Waiter) bool { return w.Own })
}
