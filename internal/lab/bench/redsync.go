package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var redsyncContender = contender{
	who:     "redsync",
	library: "goredis",
	settings: "go-redis with PoolSize 512. It polls every 50 to 250 ms by default; here every " + pollText +
		" (the best of those tried).",
	sends: []string{"set", "evalsha", "eval"},
	open: func(s setup) (session, error) {
		rc := newGoRedis(s.Addr)
		return &redsyncSession{rc, redsync.New(goredis.NewPool(rc))}, nil
	},
}

type redsyncSession struct {
	rc *redis.Client
	rs *redsync.Redsync
}

func (s *redsyncSession) mutex(_ int, name string) (mutex, error) {
	const unbounded = 1 << 30 // ctx ends it
	return redsyncMutex{s.rs.NewMutex(name,
		redsync.WithExpiry(ttl),
		redsync.WithTries(unbounded),
		redsync.WithRetryDelayFunc(func(int) time.Duration { return pollDelay() }))}, nil
}

func (s *redsyncSession) close() { _ = s.rc.Close() }

type redsyncMutex struct{ mutex *redsync.Mutex }

func (m redsyncMutex) lock(ctx context.Context) error { return m.mutex.LockContext(ctx) }

func (m redsyncMutex) unlock() error {
	if ok, err := m.mutex.Unlock(); err != nil || !ok {
		return errors.Join(errors.New("redsync: not unlocked"), err)
	}
	return nil
}

// Those that poll do so after pollLeast plus up to as much again by chance. It
// is the best of 0.25 to 64 ms: with less, failing uses up the processors (at
// 1 ms a fifth of the locks); with more, there are hardly more locks and nearly
// all go to whoever has just released. redislock names 16 ms too.
const (
	pollLeast = 16 * time.Millisecond
	pollText  = "16 to 32 ms"
)

func pollDelay() time.Duration { return pollLeast + rand.N(pollLeast) }

// newGoRedis is the client of those that use go-redis. By default it has ten
// connections for each processor, which the workload of 512 callers waits for.
func newGoRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 512})
}
