package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

var etcdContender = contender{
	who: "etcd",
	settings: "client/v3/concurrency on one etcd server with its data in /dev/shm. " +
		"Each caller has a session.",
	open: openEtcd(func(own *concurrency.Session, name string) mutex { return etcdMutex{concurrency.NewMutex(own, name)} }),
}

func openEtcd(grip func(own *concurrency.Session, name string) mutex) func(setup) (session, error) {
	return func(s setup) (session, error) {
		if s.Etcd == "" {
			return nil, errors.New("no etcd server")
		}
		client, err := clientv3.New(clientv3.Config{
			Endpoints: []string{s.Etcd}, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
		})
		if err != nil {
			return nil, err
		}
		return &etcdSession{client: client, grip: grip, sessions: map[int]*concurrency.Session{}}, nil
	}
}

type etcdSession struct {
	client *clientv3.Client
	grip   func(own *concurrency.Session, name string) mutex

	mu       sync.Mutex
	sessions map[int]*concurrency.Session // by caller; guarded by mu
}

func (s *etcdSession) mutex(caller int, name string) (mutex, error) {
	s.mu.Lock()
	own := s.sessions[caller]
	s.mu.Unlock()
	if own == nil {
		var err error
		if own, err = concurrency.NewSession(s.client, concurrency.WithTTL(int(ttl.Seconds()))); err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.sessions[caller] = own
		s.mu.Unlock()
	}
	return s.grip(own, "/"+name), nil
}

func (s *etcdSession) close() { _ = s.client.Close() }

type etcdMutex struct{ mutex *concurrency.Mutex }

func (m etcdMutex) lock(ctx context.Context) error { return m.mutex.Lock(ctx) }
func (m etcdMutex) unlock() error                  { return m.mutex.Unlock(context.Background()) }
