//go:build unix

package process_test

import (
	"context"

	"github.com/holdfast-go/holdfast"
)

// part is what a child locks of a name: permits of a semaphore, a reader's or a
// writer's part of an RWMutex, or by default a mutex.
type part struct {
	Permits, Size int
	Kind          string // "read", "write" or ""
}

var (
	reading = part{Kind: "read"}
	writing = part{Kind: "write"}
)

func (p part) lock(ctx context.Context, c *holdfast.Client, name string) (*holdfast.Lease, error) {
	switch {
	case p.Size > 0:
		return c.Semaphore(name, p.Size).Acquire(ctx, p.Permits)
	case p.Kind == "read":
		return c.RWMutex(name).RLock(ctx)
	case p.Kind == "write":
		return c.RWMutex(name).Lock(ctx)
	}
	return c.Mutex(name).Lock(ctx)
}

func (p *process) wants(name string, of part) call {
	p.t.Helper()
	return p.order(order{Do: "lock", Name: name, Part: of})
}
