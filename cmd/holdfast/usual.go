package main

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
)

// usualWait bounds what is asked of the journal to say more.
const usualWait = 500 * time.Millisecond

// usual is how long names are held as a rule, by the journal. It is asked about a name
// once, for who waits looks each second.
type usual struct {
	ask   func(ctx context.Context, name string) (time.Duration, bool)
	mu    sync.Mutex               // guards known
	known map[string]time.Duration // 0: not known
}

func newUsual(store holdfast.Store, prefix string) *usual {
	return &usual{ask: func(ctx context.Context, name string) (time.Duration, bool) {
		return journal.Typical(ctx, store, prefix, name)
	}}
}

// typical is DiagnoseOptions.Typical.
func (u *usual) typical(name string) (time.Duration, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, asked := u.known[name]
	if !asked {
		ctx, cancel := context.WithTimeout(context.Background(), usualWait)
		defer cancel()
		d, _ = u.ask(ctx, name)
		if u.known == nil {
			u.known = map[string]time.Duration{}
		}
		u.known[name] = d
	}
	return d, d > 0
}

// about is for State.Diagnose. Nothing is asked about a hold that is not older than its
// ttl: many would ask, and be told nothing.
func (u *usual) about(state *holdfast.State) *holdfast.DiagnoseOptions {
	if h := state.Holder; u == nil || h == nil || h.Held <= h.TTL {
		return nil
	}
	return &holdfast.DiagnoseOptions{Typical: u.typical}
}
