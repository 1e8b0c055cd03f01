package rivals

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"
)

// etcd's locks. Each caller has a session.
var (
	Etcd = onEtcd("client/v3/concurrency on one etcd server with its data in /dev/shm. Each caller has a session.",
		func(own *concurrency.Session, name string) Mutex {
			m := concurrency.NewMutex(own, name)
			return funcs{m.Lock, func() error { return m.Unlock(context.Background()) }}
		})
	EtcdElection = onEtcd("concurrency.Election, with a session for each candidate.",
		func(own *concurrency.Session, name string) Mutex {
			e := concurrency.NewElection(own, name)
			return funcs{
				func(ctx context.Context) error { return e.Campaign(ctx, candidateValue) },
				func() error { return e.Resign(context.Background()) },
			}
		})
	EtcdRWMutex = onEtcd("experimental/recipes, RWMutex, with a session for each caller.",
		func(own *concurrency.Session, name string) Mutex { return &etcdRWMutex{own: own, name: name} })
)

func onEtcd(settings string, mutex func(own *concurrency.Session, name string) Mutex) Contender {
	return Contender{Name: "etcd", Settings: settings, Open: func(s Setup) (Maker, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Etcd}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
		var mu sync.Mutex
		sessions := map[int]*concurrency.Session{} // by caller; guarded by mu
		return func(caller int, name string) (Mutex, error) {
			mu.Lock()
			own := sessions[caller]
			mu.Unlock()
			if own == nil {
				var err error
				if own, err = concurrency.NewSession(client, concurrency.WithTTL(int(ttl.Seconds()))); err != nil {
					return nil, err
				}
				mu.Lock()
				sessions[caller] = own
				mu.Unlock()
			}
			return mutex(own, "/"+name), nil
		}, err
	}}
}

type etcdRWMutex struct {
	own    *concurrency.Session
	name   string
	writes bool
	rw     *recipe.RWMutex // of the newest lock
}

// Lock returns when ctx ends, although the recipe has no ctx.
func (m *etcdRWMutex) Lock(ctx context.Context, p Part) error {
	m.writes, m.rw = p.Alone(), recipe.NewRWMutex(m.own, m.name)
	lock := m.rw.RLock
	if m.writes {
		lock = m.rw.Lock
	}
	done := make(chan error, 1)
	go func() { done <- lock() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *etcdRWMutex) Unlock() error {
	if m.writes {
		return m.rw.Unlock()
	}
	return m.rw.RUnlock()
}
