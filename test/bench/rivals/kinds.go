package rivals

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// What the workloads of shared kinds use.
const (
	SemaphoreSize = 4
	ManyReaders   = 1 << 30 // a writer is as much as they all
)

// ofFamily is holdfast in a workload of the family: through rueidis, with the
// options of the mutex.
func ofFamily(settings string, grip func(client *holdfast.Client, name string) (contend.Mutex, error)) contend.Contender {
	c := HoldfastContender
	c.Settings = settings
	c.Open = contend.OnRueidis(func(rc rueidis.Client) contend.Session {
		return familySession{holdfastSession{holdfast.New(rueidisstore.New(rc), nil), rc.Close}, grip}
	})
	return c
}

type familySession struct {
	holdfastSession
	grip func(client *holdfast.Client, name string) (contend.Mutex, error)
}

func (s familySession) Mutex(_ int, name string) (contend.Mutex, error) {
	return s.grip(s.client, name)
}

// leased is a mutex of holdfast of whatever kind.
type leased struct {
	take  func(ctx context.Context) (*holdfast.Lease, error)
	lease *holdfast.Lease
	token int64
}

func (m *leased) Lock(ctx context.Context) (err error) {
	if m.lease, err = m.take(ctx); err == nil {
		m.token = m.lease.Token()
	}
	return err
}

func (m *leased) Unlock() error { return m.lease.Release() }
