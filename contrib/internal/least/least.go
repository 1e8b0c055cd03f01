// Package least gives a lease back when it was held for long enough: a job that
// takes a millisecond must keep its name until the clocks of all schedulers have
// passed the tick, or the next one, whose clock is behind, runs it again.
package least

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Hold is a lease and when it may be given back.
type Hold struct {
	lease *holdfast.Lease
	until time.Time
	log   *slog.Logger
	once  sync.Once
}

// New begins a hold of at least d from now on. log gets what nobody is left to
// return to; nil: slog.Default().
func New(lease *holdfast.Lease, d time.Duration, log *slog.Logger) *Hold {
	if log == nil {
		log = slog.Default()
	}
	return &Hold{lease: lease, until: time.Now().Add(d), log: log}
}

// Release gives the lease back, in the background if that is not yet allowed. The
// error is that of Lease.Release where it was given back at once.
//
// This is the place for a least time of holding that outlives the process: here it
// ends when the process or its Client does, and the name is free, or free a ttl
// later, when a scheduler whose clock is behind comes to the tick. Once a Mutex
// has one (MinHold), until goes, Lock asks for it, and this is Lease.Release.
func (h *Hold) Release() (err error) {
	h.once.Do(func() {
		if rest := time.Until(h.until); rest > 0 && h.lease.Err() == nil {
			time.AfterFunc(rest, func() {
				if err := h.lease.Release(); err != nil && !errors.Is(err, holdfast.ErrClosed) {
					h.log.Warn("holdfast: a job's name, kept until now", "name", h.lease.Name(), "error", err)
				}
			})
			return
		}
		err = h.lease.Release()
	})
	return err
}
