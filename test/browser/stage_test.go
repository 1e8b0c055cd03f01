package browser_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
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

	mu      sync.Mutex // protects the rest
	ends    []func()
	writers []func()
}

// NewStage opens a store and a dashboard on it, with nobody there yet. withJournal lets
// the dashboard read the journal in the store; options must not be nil then.
func NewStage(options *dashboard.Options, withJournal bool) (*Stage, error) {
	store, err := embedded.Open(nil)
	if err != nil {
		return nil, err
	}
	s := &Stage{Store: store}
	if withJournal {
		with := *options
		with.Journal = dashboard.JournalIn(store, "")
		options = &with
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Server = httptest.NewServer(dashboard.Handler(admin.Of(s.Client("dashboard", holdfast.DefaultTTL)), options))
	return s, nil
}

// Client returns a Client such as another process has. It writes no journal.
func (s *Stage) Client(owner string, ttl time.Duration) *holdfast.Client {
	return s.client(s.Store, &holdfast.Options{Owner: owner, TTL: ttl})
}

func (s *Stage) client(store driver.Store, options *holdfast.Options) *holdfast.Client {
	options.Logger = slog.New(slog.DiscardHandler)
	client := holdfast.New(store, options)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, func() { client.Close() })
	return client
}

// process returns the Client of a process of the shop. Its owner is host:pid, it has details,
// and it writes the journal.
func (s *Stage) process(owner, user, command string) (*holdfast.Client, *journal.Writer) {
	return s.processOn(s.Store, owner, user, command, holdfast.DefaultTTL)
}

func (s *Stage) processOn(store driver.Store, owner, user, command string, ttl time.Duration) (*holdfast.Client, *journal.Writer) {
	writer := journal.NewWriter(s.Store, &journal.Options{Owner: owner, Logger: slog.New(slog.DiscardHandler)})
	s.mu.Lock()
	s.writers = append(s.writers, func() { writer.Close() })
	s.mu.Unlock()
	host, pid, _ := strings.Cut(owner, ":")
	number, _ := strconv.Atoi(pid)
	return s.client(store, &holdfast.Options{
		Owner: owner, TTL: ttl, OnEvent: writer.OnEvent,
		Details: &holdfast.Details{Host: host, PID: number, User: user, Command: command},
	}), writer
}

// Close ends the shop and its Clients.
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
	for _, end := range s.writers {
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
	s.job("batch-1:8812", "nightly-backup", time.Hour, 0)
	s.job("search-1:3301", "reindex:catalogue", time.Hour, 0)
	s.job("mail-2:517", "newsletter:november", time.Hour, 0)
	s.job("mail-1:502", "invoice-mails", 2*time.Second, 0)
	s.job("import-1:1822", "ftp-import", time.Second, 7)
	s.skip("batch-2:8790", "nightly-backup")
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
	client, _ := s.process(owner, "shop", "")
	s.each(client.Mutex(name), least, most, pause)
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
	client, _ := s.process(owner, "shop", "")
	s.each(of(client), 3000, 9000, 2500)
}

// permit is one of a semaphore.
type permit struct{ *holdfast.Semaphore }

func (p permit) Lock(ctx context.Context) (*holdfast.Lease, error) { return p.Acquire(ctx, 1) }

// job runs once under a name, as `holdfast run` does.
func (s *Stage) job(owner, name string, lasts time.Duration, code int) {
	client, writer := s.process(owner, "cron", "/usr/local/bin/"+strings.ReplaceAll(name, ":", "-"))
	s.all.Go(func() {
		lease, err := client.Mutex(name).Lock(s.ctx)
		if err != nil {
			return
		}
		began := time.Now()
		writer.Note(journal.Entry{Event: journal.Started, Name: name, Token: lease.Token(), Client: client.ID()})
		s.sleep(lasts)
		writer.Note(journal.Entry{Event: journal.Ended, Name: name, Token: lease.Token(), Held: time.Since(began), Code: code})
		_ = lease.Release()
	})
}

// skip now and then tries a job that another process runs.
func (s *Stage) skip(owner, name string) {
	client, writer := s.process(owner, "cron", "")
	s.all.Go(func() {
		for s.sleep(5 * time.Second); s.ctx.Err() == nil; s.sleep(20 * time.Second) {
			if lease, err := client.Mutex(name).TryLock(s.ctx); err == nil {
				_ = lease.Release()
			} else if held := new(holdfast.HeldError); errors.As(err, &held) {
				writer.Note(journal.Entry{Event: journal.Skipped, Name: name, Reason: held.Owner})
			}
		}
	})
}

func (s *Stage) candidate(address string) {
	client, _ := s.process(address, "scheduler", "")
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
	client, _ := s.processOn(slow, owner, "reports", "", 20*time.Second)
	mutex := client.Mutex(name)
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
