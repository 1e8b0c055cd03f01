package bench

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

var redislockContender = contender{
	who:     "redislock",
	library: "goredis",
	settings: "go-redis with PoolSize 512. It polls by its RetryStrategy (by default never); here every " + pollText +
		" (the best of those tried).",
	sends: []string{"evalsha", "eval"},
	open: func(s setup) (session, error) {
		rc := newGoRedis(s.Addr)
		return &redislockSession{rc, redislock.New(rc)}, nil
	},
}

type redislockSession struct {
	rc     *redis.Client
	locker *redislock.Client
}

func (s *redislockSession) mutex(_ int, name string) (mutex, error) {
	return &redislockMutex{locker: s.locker, name: name}, nil
}

func (s *redislockSession) close() { _ = s.rc.Close() }

type redislockMutex struct {
	locker *redislock.Client
	name   string
	held   *redislock.Lock
}

func (m *redislockMutex) lock(ctx context.Context) (err error) {
	m.held, err = m.locker.Obtain(ctx, m.name, ttl, &redislock.Options{RetryStrategy: polling{}})
	return err
}

func (m *redislockMutex) unlock() error { return m.held.Release(context.Background()) }

// polling is a redislock.RetryStrategy.
type polling struct{}

func (polling) NextBackoff() time.Duration { return pollDelay() }
