package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// RedsyncContender is redsync.
var RedsyncContender = contend.Contender{
	Who:     "redsync",
	Library: "goredis",
	Settings: "go-redis with PoolSize 512. It polls every 50 to 250 ms by default; here every " + contend.PollText +
		" (the best of those tried).",
	Sends: []string{"set", "evalsha", "eval"},
	Open: func(s contend.Setup) (contend.Session, error) {
		rc := contend.NewGoRedis(s.Addr)
		return &redsyncSession{rc, redsync.New(goredis.NewPool(rc))}, nil
	},
}

type redsyncSession struct {
	rc *redis.Client
	rs *redsync.Redsync
}

func (s *redsyncSession) Mutex(_ int, name string) (contend.Mutex, error) {
	const unbounded = 1 << 30 // ctx ends it
	return redsyncMutex{s.rs.NewMutex(name,
		redsync.WithExpiry(contend.TTL),
		redsync.WithTries(unbounded),
		redsync.WithRetryDelayFunc(func(int) time.Duration { return contend.PollDelay() }))}, nil
}

func (s *redsyncSession) Close() { _ = s.rc.Close() }

type redsyncMutex struct{ mutex *redsync.Mutex }

func (m redsyncMutex) Lock(ctx context.Context) error { return m.mutex.LockContext(ctx) }

func (m redsyncMutex) Unlock() error {
	if ok, err := m.mutex.Unlock(); err != nil || !ok {
		return errors.Join(errors.New("redsync: not unlocked"), err)
	}
	return nil
}
