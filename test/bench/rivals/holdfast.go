package rivals

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// holdfast's mutex, once for each client library. HoldfastPlain is on the client that most
// programs have.
var (
	Holdfast = ours("holdfast", "rueidis", "rueidisstore with all defaults. Each caller reads the token.",
		rueidisStore, mutex)
	HoldfastGoRedis = ours("holdfast-goredis", "goredis", "goredisstore on go-redis with PoolSize 512 and ContextTimeoutEnabled.",
		goRedisStore(redis.Options{PoolSize: 512, ContextTimeoutEnabled: true}), mutex)
	HoldfastPlain = ours("holdfast-goredis-plain", "goredis", "goredisstore on go-redis with all defaults.",
		goRedisStore(redis.Options{}), mutex)
)

// Other kinds, on rueidis.
var (
	HoldfastElection  = kind("Election.Campaign, which also announces the term, and Release.", election)
	HoldfastSemaphore = kind("Semaphore.Acquire, with a queue and tokens.", semaphore)
	HoldfastOnce      = kind("Client.Once of an empty function. It also records process, time and result.", onceDue)
	HoldfastNotDue    = kind("Client.Once. Its error has process, time and result of the last run.", onceNotDue)
)

// SemaphoreSize is the capacity of the semaphores.
const SemaphoreSize = 4

func rueidisStore(addr string) (driver.Store, error) {
	rc, err := newRueidis(addr)
	if err != nil {
		return nil, err
	}
	return rueidisstore.New(rc), nil
}

func goRedisStore(options redis.Options) func(addr string) (driver.Store, error) {
	return func(addr string) (driver.Store, error) {
		options.Addr = addr
		return goredisstore.New(redis.NewClient(&options)), nil
	}
}

// take locks once. It returns nil if there is nothing to release.
type take func(ctx context.Context) (lease, error)

type lease interface{ Release() error }

// leased is a mutex of holdfast of any kind.
type leased struct {
	take  take
	lease lease
}

func (m *leased) Lock(ctx context.Context) (err error) {
	m.lease, err = m.take(ctx)
	return err
}

func (m *leased) Unlock() error {
	if m.lease == nil {
		return nil
	}
	return m.lease.Release()
}

func ours(name, library, settings string, open func(addr string) (driver.Store, error), kind func(*holdfast.Client, string) take) Contender {
	return Contender{Name: name, Library: library, Settings: settings, Open: func(s Setup) (Maker, error) {
		store, err := open(s.Addr)
		if err != nil {
			return nil, err
		}
		client := holdfast.New(store, &holdfast.Options{Linger: s.Linger})
		return func(_ int, name string) (Mutex, error) { return &leased{take: kind(client, name)}, nil }, nil
	}}
}

func kind(settings string, of func(*holdfast.Client, string) take) Contender {
	return ours("holdfast", "rueidis", settings, rueidisStore, of)
}

func mutex(client *holdfast.Client, name string) take {
	m := client.Mutex(name)
	return func(ctx context.Context) (lease, error) {
		l, err := m.Lock(ctx)
		if err == nil {
			l.Token()
		}
		return l, err
	}
}

const candidateValue = "10.0.0.7:8080"

func election(client *holdfast.Client, name string) take {
	e := client.Election(name)
	return func(ctx context.Context) (lease, error) { return e.Campaign(ctx, candidateValue) }
}

func semaphore(client *holdfast.Client, name string) take {
	s := client.Semaphore(name, SemaphoreSize)
	return func(ctx context.Context) (lease, error) { return s.Acquire(ctx, 1) }
}

// onceEvery is longer than a run.
const onceEvery = time.Minute

func once(ctx context.Context, client *holdfast.Client, name string) error {
	return client.Once(ctx, name, onceEvery, func(context.Context, *holdfast.Lease) error { return nil })
}

func onceDue(client *holdfast.Client, name string) take {
	fresh := names(name)
	return func(ctx context.Context) (lease, error) { return nil, once(ctx, client, fresh()) }
}

func onceNotDue(client *holdfast.Client, name string) take {
	first := true
	return func(ctx context.Context) (lease, error) {
		err := once(ctx, client, name)
		if first && err == nil || errors.Is(err, holdfast.ErrNotDue) {
			first = false
			return nil, nil
		}
		return nil, fmt.Errorf("once more of a name that is not due: %w", err)
	}
}

// names returns a name that was not used before, each time.
func names(prefix string) func() string {
	n := 0
	return func() string {
		n++
		return prefix + ":" + strconv.Itoa(n)
	}
}
