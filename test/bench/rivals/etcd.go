package rivals

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// EtcdContender is the mutex of etcd.
var EtcdContender = contend.Contender{
	Who: "etcd",
	Settings: "client/v3/concurrency on one etcd server with its data in /dev/shm. " +
		"Each caller has a session.",
	Open: openEtcd(func(own *concurrency.Session, name string) contend.Mutex {
		return etcdMutex{concurrency.NewMutex(own, name)}
	}),
}

func openEtcd(grip func(own *concurrency.Session, name string) contend.Mutex) func(contend.Setup) (contend.Session, error) {
	return func(s contend.Setup) (contend.Session, error) {
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
	grip   func(own *concurrency.Session, name string) contend.Mutex

	mu       sync.Mutex
	sessions map[int]*concurrency.Session // by caller; guarded by mu
}

func (s *etcdSession) Mutex(caller int, name string) (contend.Mutex, error) {
	s.mu.Lock()
	own := s.sessions[caller]
	s.mu.Unlock()
	if own == nil {
		var err error
		if own, err = concurrency.NewSession(s.client, concurrency.WithTTL(int(contend.TTL.Seconds()))); err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.sessions[caller] = own
		s.mu.Unlock()
	}
	return s.grip(own, "/"+name), nil
}

func (s *etcdSession) Close() { _ = s.client.Close() }

type etcdMutex struct{ mutex *concurrency.Mutex }

func (m etcdMutex) Lock(ctx context.Context) error { return m.mutex.Lock(ctx) }
func (m etcdMutex) Unlock() error                  { return m.mutex.Unlock(context.Background()) }
