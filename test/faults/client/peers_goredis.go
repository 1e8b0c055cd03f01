//go:build linux

package client

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// pollDelay is what the benchmarks found best for those that poll.
func pollDelay() time.Duration {
	return 16*time.Millisecond + mathrand.N(16*time.Millisecond)
}

// goRedisPeer is a lock by way of go-redis. take locks a key.
type goRedisPeer struct {
	*process
	rc   redis.UniversalClient
	take func(ctx context.Context, key string, try bool) (lease, error)
}

func (p *goRedisPeer) close() { _ = p.rc.Close() }

func (p *goRedisPeer) lock(ctx context.Context, w *wish, try bool) (lease, error) {
	return p.take(ctx, p.Peer.Key(p.Prefix, w.target.Names[0]), try)
}

// onGoRedis makes a peer. Its client is made to obey ctx.
func onGoRedis(p *process) (peer, error) {
	u, err := url.Parse(p.URLs[0])
	if err != nil {
		return nil, err
	}
	o := &redis.UniversalOptions{Addrs: strings.Split(u.Host, ","), PoolSize: 512, ContextTimeoutEnabled: true}
	if u.Scheme == "sentinel" {
		o.MasterName = strings.Trim(u.Path, "/")
	}
	made := &goRedisPeer{process: p, rc: redis.NewUniversalClient(o)}
	switch p.Peer {
	case Redsync:
		made.take = made.redsync(redsync.New(goredis.NewPool(made.rc)))
	case Redislock:
		made.take = made.redislock(redislock.New(made.rc))
	default:
		made.take = made.recipe
	}
	return made, nil
}

func (p *goRedisPeer) redsync(rs *redsync.Redsync) func(context.Context, string, bool) (lease, error) {
	return func(ctx context.Context, key string, try bool) (lease, error) {
		const unbounded = 1 << 30 // ctx ends it
		m := rs.NewMutex(key, redsync.WithExpiry(p.TTL), redsync.WithTries(unbounded),
			redsync.WithRetryDelayFunc(func(int) time.Duration { return pollDelay() }))
		lock := m.LockContext
		if try {
			lock = m.TryLockContext
		}
		if err := lock(ctx); err != nil {
			if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) {
				return nil, errNotGranted
			}
			return nil, err
		}
		return &timed{m.Until(), func(ctx context.Context) error {
			if ok, err := m.UnlockContext(ctx); err != nil || !ok {
				return errors.Join(errors.New("redsync: not unlocked"), err)
			}
			return nil
		}}, nil
	}
}

func (p *goRedisPeer) redislock(locker *redislock.Client) func(context.Context, string, bool) (lease, error) {
	return func(ctx context.Context, key string, try bool) (lease, error) {
		var retry redislock.RetryStrategy = polling{}
		if try {
			retry = redislock.NoRetry()
		}
		if _, bounded := ctx.Deadline(); !bounded { // else it gives up after a ttl
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Hour)
			defer cancel()
		}
		l, err := locker.Obtain(ctx, key, p.TTL, &redislock.Options{RetryStrategy: retry})
		if errors.Is(err, redislock.ErrNotObtained) {
			return nil, errNotGranted
		}
		if err != nil {
			return nil, err
		}
		asked := time.Now()
		left, err := l.TTL(ctx)
		if err != nil { // a holder that does not know until when
			release, cancel := context.WithTimeout(context.Background(), peerWait)
			defer cancel()
			return nil, errors.Join(err, l.Release(release))
		}
		return &timed{asked.Add(left), l.Release}, nil
	}
}

// polling is a redislock.RetryStrategy.
type polling struct{}

func (polling) NextBackoff() time.Duration { return pollDelay() }

var compareAndDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// recipe is the lock of the Redis documentation, polled for.
func (p *goRedisPeer) recipe(ctx context.Context, key string, try bool) (lease, error) {
	for {
		id := rand.Text()
		asked := time.Now()
		got, err := p.rc.SetNX(ctx, key, id, p.TTL).Result()
		switch {
		case err != nil:
			return nil, err
		case got:
			if p.Peer == RecipeLate {
				asked = time.Now()
			}
			return &timed{asked.Add(p.TTL), func(ctx context.Context) error {
				n, err := compareAndDelete.Run(ctx, p.rc, []string{key}, id).Int()
				if err == nil && n == 0 {
					err = errors.New("recipe: not held")
				}
				return err
			}}, nil
		case try:
			return nil, errNotGranted
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollDelay()):
		}
	}
}
