package rivals

import (
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// HoldfastSemaphore is Semaphore.
var HoldfastSemaphore = ofFamily("Semaphore.Acquire, with a queue and tokens.",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		m := &holdfastPermits{n: 1}
		semaphore := client.Semaphore(name, SemaphoreSize)
		m.take = func(ctx context.Context) (*holdfast.Lease, error) { return semaphore.Acquire(ctx, m.n) }
		return m, nil
	})

type holdfastPermits struct {
	leased
	n int
}

func (m *holdfastPermits) Ask(p contend.Part) { m.n = int(p.Weight) }
