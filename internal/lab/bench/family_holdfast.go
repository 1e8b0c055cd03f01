package bench

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

const (
	semaphoreSize = 4
	manyReaders   = 1 << 30 // a writer is as much as they all
)

// ofFamily is holdfast in a workload of the family: through rueidis, with the
// options of the mutex.
func ofFamily(settings string, grip func(client *holdfast.Client, name string) (mutex, error)) contender {
	c := holdfastContender
	c.settings = settings
	c.open = onRueidis(func(rc rueidis.Client) session {
		return familySession{holdfastSession{holdfast.New(rueidisstore.New(rc), nil), rc.Close}, grip}
	})
	return c
}

type familySession struct {
	holdfastSession
	grip func(client *holdfast.Client, name string) (mutex, error)
}

func (s familySession) mutex(_ int, name string) (mutex, error) { return s.grip(s.client, name) }

// leased is a mutex of holdfast of whatever kind.
type leased struct {
	take  func(ctx context.Context) (*holdfast.Lease, error)
	lease *holdfast.Lease
	token int64
}

func (m *leased) lock(ctx context.Context) (err error) {
	if m.lease, err = m.take(ctx); err == nil {
		m.token = m.lease.Token()
	}
	return err
}

func (m *leased) unlock() error { return m.lease.Release() }
