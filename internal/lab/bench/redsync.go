package bench

import (
	"context"
	"errors"
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
