package bench

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

var redislockContender = contender{
	who: "redislock",
	settings: "go-redis with PoolSize 512. It polls as its RetryStrategy says (not at all by default); here every " + pollText +
		", the best of those tried.",
	sends: []string{"evalsha", "eval"},
	open: func(addr string) (session, error) {
		rc := newGoRedis(addr)
		return &redislockSession{rc, redislock.New(rc)}, nil
	},
}

type redislockSession struct {
	rc     *redis.Client
	locker *redislock.Client
}

func (s *redislockSession) lock(ctx context.Context, name string) (func() error, error) {
	lock, err := s.locker.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: polling{}})
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(context.Background()) }, nil
}

func (s *redislockSession) close() { _ = s.rc.Close() }

// polling is a redislock.RetryStrategy.
type polling struct{}

func (polling) NextBackoff() time.Duration { return pollDelay() }
