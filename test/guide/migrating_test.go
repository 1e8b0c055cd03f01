//go:build unix

package guide_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The code of docs/guide/06-migrating.md.

func chargeWithRedsync(ctx context.Context, rs *redsync.Redsync, charge func(context.Context) error) error {
	mutex := rs.NewMutex("lock:invoice:42", redsync.WithExpiry(15*time.Second), redsync.WithTries(100))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.Unlock()
	return charge(ctx)
}

func chargeWithHoldfast(ctx context.Context, client *holdfast.Client, charge func(context.Context, int64) error) error {
	return holdfast.Do(ctx, client.Mutex("lock:invoice:42"),
		func(ctx context.Context, lease *holdfast.Lease) error {
			return charge(ctx, lease.Token())
		})
}

func sameKeys(store driver.Store) *holdfast.Client {
	client := holdfast.New(store, &holdfast.Options{
		Prefix: holdfast.NoPrefix, // the name is the key, as in redsync and redislock
	})
	return client
}

func sameKeysAsRueidislock(store driver.Store) *holdfast.Client {
	client := holdfast.New(store, &holdfast.Options{Prefix: "rueidislock:0:"}) // for KeyMajority 1
	return client
}

func twoOfThreeKeys(ctx context.Context, store driver.Store) (*holdfast.MultiLease, error) {
	client := holdfast.New(store, &holdfast.Options{Prefix: "rueidislock:"}) // for KeyMajority 2
	return client.Multi("0:invoice:42", "1:invoice:42").Lock(ctx)
}

// lockBoth takes the old lock first, then the new one: the same order in every program.
func lockBoth(ctx context.Context, old *redsync.Mutex, mutex *holdfast.Mutex) (release func() error, err error) {
	if err := old.LockContext(ctx); err != nil {
		return nil, err
	}
	lease, err := mutex.Lock(ctx)
	if err != nil {
		_, unlock := old.Unlock()
		return nil, errors.Join(err, unlock)
	}
	return func() error {
		err := lease.Release()
		_, unlock := old.Unlock()
		return errors.Join(err, unlock)
	}, nil
}

// lock takes a lock and returns what gives it back. Without wait it asks once.
type lock func(ctx context.Context, wait bool) (unlock func() error, err error)

// migration is a library and two processes with holdfast on the same keys of a server.
type migration struct {
	key               string // that both write
	old, ours, second lock
}

var migrations = map[string]func(t *testing.T, server *redistest.Server) migration{
	"redsync": func(t *testing.T, server *redistest.Server) migration {
		rs := redsync.New(goredis.NewPool(goRedis(t, server)))
		ours := func() lock { return mutexLock(keep(t, sameKeys(open(t, server))), "lock:invoice:42") }
		return migration{"lock:invoice:42", redsyncLock(rs), ours(), ours()}
	},
	"redislock": func(t *testing.T, server *redistest.Server) migration {
		locker := redislock.New(goRedis(t, server))
		ours := func() lock { return mutexLock(keep(t, sameKeys(open(t, server))), "lock:invoice:42") }
		return migration{"lock:invoice:42", redislockLock(locker), ours(), ours()}
	},
	"rueidislock, one key": func(t *testing.T, server *redistest.Server) migration {
		ours := func() lock { return mutexLock(keep(t, sameKeysAsRueidislock(open(t, server))), "invoice:42") }
		return migration{"rueidislock:0:invoice:42", rueidislockLock(t, server, 1), ours(), ours()}
	},
	"rueidislock, three keys": func(t *testing.T, server *redistest.Server) migration {
		ours := func() lock {
			client := keep(t, holdfast.New(open(t, server), &holdfast.Options{Prefix: "rueidislock:"}))
			return multiLock(client.Multi("0:invoice:42", "1:invoice:42"))
		}
		return migration{"rueidislock:0:invoice:42", rueidislockLock(t, server, 2), ours(), ours()}
	},
}

// each runs a test with every library.
func each(t *testing.T, test func(t *testing.T, server *redistest.Server, m migration)) {
	for name, start := range migrations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			test(t, server, start(t, server))
		})
	}
}

// Workers with the old library and workers with holdfast want one key: no two have it at a time.
func TestMigratingExcludes(t *testing.T) {
	each(t, func(t *testing.T, _ *redistest.Server, m migration) {
		work(t, m.old, m.old, m.ours, m.second)
	})
}

// Each sees that the other holds the name, and gets it when the other releases it.
func TestMigratingWaits(t *testing.T) {
	each(t, func(t *testing.T, _ *redistest.Server, m migration) {
		for name, pair := range map[string][2]lock{"old waits for holdfast": {m.ours, m.old}, "holdfast waits for old": {m.old, m.ours}} {
			first, second := pair[0], pair[1]
			unlock, err := first(t.Context(), true)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := second(t.Context(), false); err == nil {
				t.Fatalf("%s: the second got a lock that is held", name)
			}
			waited := make(chan error, 1)
			go func() {
				unlock, err := second(t.Context(), true)
				if err == nil {
					err = unlock()
				}
				waited <- err
			}()
			select {
			case err := <-waited:
				t.Fatalf("%s: did not wait: %v", name, err)
			case <-time.After(300 * time.Millisecond):
			}
			if err := unlock(); err != nil {
				t.Errorf("%s: unlock: %v", name, err)
			}
			if err := <-waited; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A client of another library has no place in the queue: it gets the name when no process
// with holdfast waits for it.
func TestMigratingQueueGoesFirst(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, m migration) {
		unlock, err := m.ours(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		take := func(lock lock, took chan<- func() error) {
			release, err := lock(t.Context(), true)
			if err != nil {
				t.Error(err)
			}
			took <- release
		}
		gotOld, gotSecond := make(chan func() error, 1), make(chan func() error, 1)
		go take(m.old, gotOld)
		time.Sleep(100 * time.Millisecond) // it polls before the second waits
		go take(m.second, gotSecond)
		for server.MustDo(t, "ZCARD", "holdfast/queue:{"+m.key+"}") != "1" {
			time.Sleep(time.Millisecond) // until the test's time is over
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
		second := <-gotSecond
		select {
		case <-gotOld:
			t.Error("the old client got a name that holdfast holds")
		case <-time.After(100 * time.Millisecond):
		}
		if err := errors.Join(second(), (<-gotOld)()); err != nil {
			t.Error(err)
		}
	})
}

// A holder of another library has no label; holdfast says that it is foreign.
func TestMigratingSeesForeigners(t *testing.T) {
	each(t, func(t *testing.T, _ *redistest.Server, m migration) {
		unlock, err := m.old(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.ours(t.Context(), false)
		if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || !held.Foreign {
			t.Errorf("holdfast got %v, want a HeldError with Foreign", err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	})
}

// A late unlock of the old library leaves the key of holdfast alone.
func TestMigratingLateUnlock(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, m migration) {
		late, err := m.old(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		server.MustDo(t, "FLUSHALL") // as if its time had ended
		unlock, err := m.ours(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		id := server.MustDo(t, "GET", m.key)
		_ = late() // some say that the lock was not theirs, some do not
		if got := server.MustDo(t, "GET", m.key); got != id {
			t.Errorf("after a late unlock the key has %q, want %q", got, id)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	})
}

// The functions that the page shows work.
func TestMigratingPage(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	rs := redsync.New(goredis.NewPool(goRedis(t, server)))
	if err := chargeWithRedsync(t.Context(), rs, func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	client := keep(t, sameKeys(open(t, server)))
	err := chargeWithHoldfast(t.Context(), client, func(_ context.Context, token int64) error {
		if token == 0 {
			return errors.New("no token")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	lease, err := twoOfThreeKeys(t.Context(), open(t, server))
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

// Where keys can't be shared, here since redsync locks on three servers and holdfast on one,
// the programs of two neighbouring roll-outs exclude each other.
func TestMigratingByTwoLocks(t *testing.T) {
	t.Parallel()
	var pools []syncredis.Pool
	for range 3 {
		pools = append(pools, goredis.NewPool(goRedis(t, redistest.Start(t, redistest.Options{}))))
	}
	rs := redsync.New(pools...)
	mutex := keep(t, holdfast.New(open(t, redistest.Start(t, redistest.Options{})), nil)).Mutex("invoice:42")
	first := redsyncLock(rs)
	second := func(ctx context.Context, _ bool) (func() error, error) {
		return lockBoth(ctx, rs.NewMutex("lock:invoice:42", redsync.WithTries(1000), redsync.WithRetryDelay(5*time.Millisecond)), mutex)
	}
	third := func(ctx context.Context, _ bool) (func() error, error) {
		lease, err := mutex.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
	work(t, first, first, second, second)
	work(t, second, second, third, third)
	old, err := first(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := third(t.Context(), false); err != nil {
		t.Errorf("first and third exclude each other, so this test shows nothing: %v", err)
	}
	if err := old(); err != nil {
		t.Error(err)
	}
}

// work lets a worker use each lock 50 times, and fails when two had theirs at a time.
func work(t *testing.T, locks ...lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var inside, overlaps, done atomic.Int64
	var all sync.WaitGroup
	for _, lock := range locks {
		all.Go(func() {
			for range 50 {
				unlock, err := lock(ctx, true)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 1 {
					overlaps.Add(1)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				done.Add(1)
				if err := unlock(); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(2 * time.Millisecond) // a polling client gets its chance
			}
		})
	}
	all.Wait()
	if n := overlaps.Load(); n != 0 {
		t.Errorf("%d times two workers were inside", n)
	}
	if want := int64(50 * len(locks)); done.Load() != want && !t.Failed() {
		t.Errorf("%d turns, want %d", done.Load(), want)
	}
}

func redsyncLock(rs *redsync.Redsync) lock {
	return func(ctx context.Context, wait bool) (func() error, error) {
		mutex := rs.NewMutex("lock:invoice:42", redsync.WithTries(5000), redsync.WithRetryDelay(5*time.Millisecond))
		take := mutex.TryLockContext
		if wait {
			take = mutex.LockContext
		}
		if err := take(ctx); err != nil {
			return nil, err
		}
		return func() error { _, err := mutex.Unlock(); return err }, nil
	}
}

func redislockLock(locker *redislock.Client) lock {
	return func(ctx context.Context, wait bool) (func() error, error) {
		options := &redislock.Options{}
		if wait {
			options.RetryStrategy = redislock.LinearBackoff(5 * time.Millisecond)
		}
		held, err := locker.Obtain(ctx, "lock:invoice:42", 15*time.Second, options)
		if err != nil {
			return nil, err
		}
		return func() error { return held.Release(context.Background()) }, nil
	}
}

// rueidislockLock asks again each second: now and then it misses that a key is free.
func rueidislockLock(t *testing.T, server *redistest.Server, majority int32) lock {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		KeyMajority:  majority,
		KeyValidity:  15 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(locker.Close)
	return func(ctx context.Context, wait bool) (func() error, error) {
		take := locker.TryWithContext
		if wait {
			take = locker.WithContext
		}
		for {
			bound, stop := context.WithCancel(ctx)
			timer := time.AfterFunc(time.Second, stop)
			hold, release, err := take(bound, "invoice:42")
			if err == nil && timer.Stop() {
				return func() error { err := hold.Err(); release(); stop(); return err }, nil
			}
			if err == nil {
				release()
			}
			stop()
			if !wait || ctx.Err() != nil {
				return nil, errors.Join(err, errors.New("rueidislock: not locked"))
			}
		}
	}
}

func mutexLock(client *holdfast.Client, name string) lock {
	return func(ctx context.Context, wait bool) (func() error, error) {
		take := client.Mutex(name).TryLock
		if wait {
			take = client.Mutex(name).Lock
		}
		lease, err := take(ctx)
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

func multiLock(names *holdfast.Multi) lock {
	return func(ctx context.Context, wait bool) (func() error, error) {
		take := names.TryLock
		if wait {
			take = names.Lock
		}
		lease, err := take(ctx)
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

func goRedis(t *testing.T, server *redistest.Server) *redis.Client {
	rc := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rc.Close() })
	return rc
}

func open(t *testing.T, server *redistest.Server) driver.Store {
	store, err := rueidisstore.Open(server.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func keep(t *testing.T, client *holdfast.Client) *holdfast.Client {
	t.Cleanup(func() { _ = client.Close() })
	return client
}
