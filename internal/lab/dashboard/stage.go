package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// Stage is a small shop at work: a flash sale, invoices, a nightly job, an election, a
// semaphore, readers and a writer, an old client's key without expiry and a holder that
// hangs. All of it is real: real Clients lock, wait and lose.
type Stage struct {
	Server *httptest.Server
	Store  *embedded.Store

	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
	mu     sync.Mutex // guards closers
	ends   []func()
}

// NewStage opens a store and a dashboard on it, with nobody there yet.
func NewStage(options *dashboard.Options) (*Stage, error) {
	store, err := embedded.Open(nil)
	if err != nil {
		return nil, err
	}
	s := &Stage{Store: store}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Server = httptest.NewServer(dashboard.Handler(s.Client("dashboard", holdfast.DefaultTTL), options))
	return s, nil
}

// Client is a process's, as far as the lock is concerned.
func (s *Stage) Client(owner string, ttl time.Duration) *holdfast.Client {
	return s.on(s.Store, owner, ttl)
}

func (s *Stage) on(store holdfast.Store, owner string, ttl time.Duration) *holdfast.Client {
	client := holdfast.New(store, &holdfast.Options{Owner: owner, TTL: ttl, Logger: slog.New(slog.DiscardHandler)})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, func() { client.Close() })
	return client
}

// Close sends all home.
func (s *Stage) Close() {
	s.cancel()
	s.Server.CloseClientConnections()
	s.Server.Close()
	s.all.Wait()
	var closing sync.WaitGroup
	for _, end := range s.ends {
		closing.Go(end)
	}
	closing.Wait()
	s.Store.Close()
}

// Play begins the shop's day.
func (s *Stage) Play() error {
	for i := range 9 {
		s.repeat(fmt.Sprintf("shop-%d:%d", i%3+1, 4100+i), "sale:sneakers-42", 150, 900, 200)
	}
	for i := range 4 {
		s.repeat(fmt.Sprintf("billing-%d:%d", i%2+1, 771+i), fmt.Sprintf("invoice:%d", 1040+i%2), 2500, 9000, 800)
	}
	for i := range 5 {
		s.repeat(fmt.Sprintf("stock-%d:%d", i%2+1, 90+i), "warehouse:eu:rebalance", 4000, 12000, 500)
	}
	s.keep("batch-1:8812", "nightly-backup")
	s.repeat("batch-2:8790", "nightly-backup", 1000, 1000, 1000)
	s.keep("search-1:3301", "reindex:catalogue")
	s.keep("mail-2:517", "newsletter:november")
	for i := range 3 {
		s.candidate(fmt.Sprintf("10.0.0.%d:8080", i+3))
	}
	for i := range 6 {
		s.share(fmt.Sprintf("render-%d:%d", i%3+1, 620+i), func(c *holdfast.Client) holdfast.Locker { return permit{c.Semaphore("gpu", 4)} })
	}
	for i := range 3 {
		s.share(fmt.Sprintf("search-%d:%d", i+1, 3310+i), func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("catalogue").RLocker() })
	}
	s.share("import-1:2044", func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("catalogue") })
	return errors.Join(s.legacy("legacy:ftp-import"), s.hang("report-3:1999", "report:weekly"))
}

// between is a time from least to most, in milliseconds.
func between(least, most int) time.Duration {
	return time.Duration(least+rand.IntN(most-least+1)) * time.Millisecond
}

func (s *Stage) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

// repeat locks, works and pauses, again and again.
func (s *Stage) repeat(owner, name string, least, most, pause int) {
	s.each(s.Client(owner, holdfast.DefaultTTL).Mutex(name), least, most, pause)
}

func (s *Stage) each(locker holdfast.Locker, least, most, pause int) {
	s.all.Go(func() {
		for s.ctx.Err() == nil {
			lease, err := locker.Lock(s.ctx)
			if err != nil {
				s.sleep(time.Second)
				continue
			}
			s.sleep(between(least, most))
			_ = lease.Release()
			s.sleep(between(pause/2, pause))
		}
	})
}

func (s *Stage) share(owner string, of func(*holdfast.Client) holdfast.Locker) {
	s.each(of(s.Client(owner, holdfast.DefaultTTL)), 3000, 9000, 2500)
}

// permit is one of a semaphore.
type permit struct{ *holdfast.Semaphore }

func (p permit) Lock(ctx context.Context) (*holdfast.Lease, error) { return p.Acquire(ctx, 1) }

// keep locks and keeps on.
func (s *Stage) keep(owner, name string) {
	s.all.Go(func() {
		if lease, err := s.Client(owner, holdfast.DefaultTTL).Mutex(name).Lock(s.ctx); err == nil {
			<-s.ctx.Done()
			_ = lease.Release()
		}
	})
}

func (s *Stage) candidate(address string) {
	client := s.Client(address, holdfast.DefaultTTL)
	s.all.Go(func() {
		if lease, err := client.Election("scheduler").Campaign(s.ctx, address); err == nil {
			<-s.ctx.Done()
			_ = lease.Release()
		}
	})
}

// legacy leaves a key as an old client does that dies between SETNX and EXPIRE.
func (s *Stage) legacy(name string) error {
	lease, err := s.Client("import-1:2044", holdfast.DefaultTTL).Mutex(name).Lock(s.ctx)
	if err != nil {
		return err
	}
	if err := lease.Release(); err != nil {
		return err
	}
	_, err = s.Store.Do("SET", holdfast.DefaultPrefix+name, "host=ftp-old pid=118")
	return err
}

// hang lets a holder hang: its commands are not answered any more. It does so again
// and again.
func (s *Stage) hang(owner, name string) error {
	slow := &hangingStore{Store: s.Store}
	mutex := s.on(slow, owner, 20*time.Second).Mutex(name)
	s.all.Go(func() {
		for s.ctx.Err() == nil {
			slow.hangs.Store(false)
			if _, err := mutex.Lock(s.ctx); err != nil {
				s.sleep(time.Second)
				continue
			}
			slow.hangs.Store(true)
			s.sleep(21 * time.Second)
		}
		slow.hangs.Store(false)
	})
	return nil
}
