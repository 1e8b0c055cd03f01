package bench

import (
	"context"

	"github.com/holdfast-go/holdfast"
)

var holdfastSemaphore = ofFamily("Semaphore.Acquire, with a queue and tokens.",
	func(client *holdfast.Client, name string) (mutex, error) {
		m := &holdfastPermits{n: 1}
		semaphore := client.Semaphore(name, semaphoreSize)
		m.take = func(ctx context.Context) (*holdfast.Lease, error) { return semaphore.Acquire(ctx, m.n) }
		return m, nil
	})

type holdfastPermits struct {
	leased
	n int
}

func (m *holdfastPermits) ask(p part) { m.n = int(p.weight) }
