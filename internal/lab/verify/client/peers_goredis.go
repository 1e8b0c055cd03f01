//go:build linux

package client

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
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

type redsyncPeer struct {
	*process
	rc redis.UniversalClient
	rs *redsync.Redsync
}

func newRedsync(p *process) (peer, error) {
	rc, err := p.goRedis()
	if err != nil {
		return nil, err
	}
	return &redsyncPeer{p, rc, redsync.New(goredis.NewPool(rc))}, nil
}

func (p *redsyncPeer) close() { _ = p.rc.Close() }

func (p *redsyncPeer) lock(ctx context.Context, w *wish, try bool) (lease, error) {
	const unbounded = 1 << 30 // ctx ends it
	m := p.rs.NewMutex(Redsync.Key(p.Prefix, w.target.Names[0]), redsync.WithExpiry(p.TTL), redsync.WithTries(unbounded),
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

type redislockPeer struct {
	*process
	rc     redis.UniversalClient
	locker *redislock.Client
}

func newRedislock(p *process) (peer, error) {
	rc, err := p.goRedis()
	if err != nil {
		return nil, err
	}
	return &redislockPeer{p, rc, redislock.New(rc)}, nil
}

func (p *redislockPeer) close() { _ = p.rc.Close() }

func (p *redislockPeer) lock(ctx context.Context, w *wish, try bool) (lease, error) {
	var retry redislock.RetryStrategy = polling{}
	if try {
		retry = redislock.NoRetry()
	}
	if _, bounded := ctx.Deadline(); !bounded { // else it gives up after a ttl
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Hour)
		defer cancel()
	}
	l, err := p.locker.Obtain(ctx, Redislock.Key(p.Prefix, w.target.Names[0]), p.TTL, &redislock.Options{RetryStrategy: retry})
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

// polling is a redislock.RetryStrategy.
type polling struct{}

func (polling) NextBackoff() time.Duration { return pollDelay() }

// recipePeer is the lock of the Redis documentation, polled for.
type recipePeer struct {
	*process
	rc redis.UniversalClient
}

func newRecipe(p *process) (peer, error) {
	rc, err := p.goRedis()
	if err != nil {
		return nil, err
	}
	return &recipePeer{p, rc}, nil
}

func (p *recipePeer) close() { _ = p.rc.Close() }

var compareAndDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

func (p *recipePeer) lock(ctx context.Context, w *wish, try bool) (lease, error) {
	key := Recipe.Key(p.Prefix, w.target.Names[0])
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
