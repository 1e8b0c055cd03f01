package rivals

import (
	"context"

	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// HoldfastRWMutex is RWMutex.
var HoldfastRWMutex = ofFamily("",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		m := &holdfastReader{}
		rw := client.RWMutex(name)
		m.take = func(ctx context.Context) (*holdfast.Lease, error) {
			if m.writes {
				return rw.Lock(ctx)
			}
			return rw.RLock(ctx)
		}
		return m, nil
	})

type holdfastReader struct {
	leased
	writes bool
}

func (m *holdfastReader) Ask(p contend.Part) { m.writes = p.Alone() }

// EtcdRWMutex is the recipe of etcd.
var EtcdRWMutex = contend.Contender{
	Who:      "etcd",
	Settings: "experimental/recipes, RWMutex, with a session for each caller.",
	Open:     openEtcd(func(own *concurrency.Session, name string) contend.Mutex { return &etcdReader{own: own, name: name} }),
}

type etcdReader struct {
	own    *concurrency.Session
	name   string
	writes bool
	rw     *recipe.RWMutex // of the newest lock
}

func (m *etcdReader) Ask(p contend.Part) { m.writes = p.Alone() }

func (m *etcdReader) Lock(ctx context.Context) error {
	m.rw = recipe.NewRWMutex(m.own, m.name)
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

func (m *etcdReader) Unlock() error {
	if m.writes {
		return m.rw.Unlock()
	}
	return m.rw.RUnlock()
}
