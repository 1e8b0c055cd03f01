package rivals

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// RedislockContender is redislock.
var RedislockContender = contend.Contender{
	Who:     "redislock",
	Library: "goredis",
	Settings: "go-redis with PoolSize 512. It polls by its RetryStrategy (by default never); here every " + contend.PollText +
		" (the best of those tried).",
	Sends: []string{"evalsha", "eval"},
	Open: func(s contend.Setup) (contend.Session, error) {
		rc := contend.NewGoRedis(s.Addr)
		return &redislockSession{rc, redislock.New(rc)}, nil
	},
}

type redislockSession struct {
	rc     *redis.Client
	locker *redislock.Client
}

func (s *redislockSession) Mutex(_ int, name string) (contend.Mutex, error) {
	return &redislockMutex{locker: s.locker, name: name}, nil
}

func (s *redislockSession) Close() { _ = s.rc.Close() }

type redislockMutex struct {
	locker *redislock.Client
	name   string
	held   *redislock.Lock
}

func (m *redislockMutex) Lock(ctx context.Context) (err error) {
	m.held, err = m.locker.Obtain(ctx, m.name, contend.TTL, &redislock.Options{RetryStrategy: polling{}})
	return err
}

func (m *redislockMutex) Unlock() error { return m.held.Release(context.Background()) }

// polling is a redislock.RetryStrategy.
type polling struct{}

func (polling) NextBackoff() time.Duration { return contend.PollDelay() }
