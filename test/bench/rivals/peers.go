package rivals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// Redsync is redsync.
var Redsync = Contender{
	Name: "redsync", Library: "goredis", Sends: []string{"set"},
	Settings: "go-redis with PoolSize 512. It polls every 50 to 250 ms by default; here every " + PollText + " (the best of those tried).",
	Open: func(s Setup) (Maker, error) {
		rs := redsync.New(goredis.NewPool(newGoRedis(s.Addr)))
		return func(_ int, name string) (Mutex, error) {
			const unbounded = 1 << 30 // ctx ends it
			m := rs.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(unbounded),
				redsync.WithRetryDelayFunc(func(int) time.Duration { return pollDelay() }))
			return funcs{m.LockContext, func() error {
				ok, err := m.Unlock()
				if !ok {
					err = errors.Join(errors.New("redsync: not unlocked"), err)
				}
				return err
			}}, nil
		}, nil
	},
}

// Redislock is redislock. RedislockPlain is on the client that most programs have.
var (
	Redislock = newRedislock("redislock", "go-redis with PoolSize 512. It polls by its RetryStrategy (by default never); here every "+
		PollText+" (the best of those tried).", newGoRedis)
	RedislockPlain = newRedislock("redislock-plain", "the same on go-redis with all defaults.",
		func(addr string) *redis.Client { return redis.NewClient(&redis.Options{Addr: addr}) })
)

func newRedislock(name, settings string, open func(addr string) *redis.Client) Contender {
	return Contender{Name: name, Library: "goredis", Settings: settings, Open: func(s Setup) (Maker, error) {
		locker := redislock.New(open(s.Addr))
		return func(_ int, name string) (Mutex, error) {
			var held *redislock.Lock
			return funcs{
				func(ctx context.Context) (err error) {
					held, err = locker.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: polling{}})
					return err
				},
				func() error { return held.Release(context.Background()) },
			}, nil
		}, nil
	}}
}

// polling is a redislock.RetryStrategy.
type polling struct{}

func (polling) NextBackoff() time.Duration { return pollDelay() }

// Rueidislock is rueidislock, in two settings.
var (
	Rueidislock = newRueidislock("rueidislock",
		"KeyMajority 1, as its README says for a single server. Without a deadline it sometimes waits forever, so its context ends with the run.", false)
	RueidislockNoLoop = newRueidislock("rueidislock-noloop", "the same with NoLoopTracking, which its README calls faster.", true)
)

func newRueidislock(name, settings string, noLoop bool) Contender {
	return Contender{Name: name, Library: "rueidis", Settings: settings, Hangs: true, Open: func(s Setup) (Maker, error) {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{s.Addr}}, KeyMajority: 1, NoLoopTracking: noLoop,
		})
		return func(_ int, name string) (Mutex, error) {
			var release context.CancelFunc
			return funcs{
				func(ctx context.Context) (err error) { // it bounds the hold, too
					_, release, err = locker.WithContext(ctx, name)
					return err
				},
				func() error { release(); return nil },
			}, nil
		}, err
	}}
}

// SetNX is what programs do without a library: each time due, and never due.
var (
	SetNX       = newSetNX(names, "OK")
	SetNXNotDue = newSetNX(func(name string) func() string { return func() string { return name } }, "")
)

func newSetNX(key func(name string) func() string, want string) Contender {
	return Contender{
		Name: "set-nx-ex", Library: "rueidis", Sends: []string{"set"},
		Settings: "SET NX EX 60 through rueidis. A run that dies counts, a run of more than 60 s overlaps the next, nothing is recorded.",
		Open: onRueidis(func(rc rueidis.Client, name string) (Mutex, error) {
			next, calls := key(name), 0
			return funcs{lock: func(ctx context.Context) error {
				got, err := rc.Do(ctx, rc.B().Set().Key(next()).Value("1").Nx().ExSeconds(int64(onceEvery.Seconds())).Build()).ToString()
				if calls++; calls > 1 && got != want {
					return fmt.Errorf("SET NX answered %q, want %q: %w", got, want, err)
				}
				return nil
			}}, nil
		}),
	}
}

// ZsetScript is the well-known counting semaphore on a sorted set, done right: in one script, by
// the server's clock.
var ZsetScript = Contender{
	Name: "zset-script", Library: "rueidis", Sends: []string{"zrem"},
	Settings: "the correct recipe, through rueidis: one script by the server's clock. It polls every " + PollText + ". No renewal, no token, no weights.",
	Open: onRueidis(func(rc rueidis.Client, name string) (Mutex, error) {
		id := rand.Text()
		args := []string{id, strconv.Itoa(SemaphoreSize), ttlText}
		return funcs{
			func(ctx context.Context) error {
				for {
					n, err := zsetAcquire.Exec(ctx, rc, []string{name}, args).AsInt64()
					if n == 1 || err != nil {
						return err
					}
					select {
					case <-time.After(pollDelay()):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			},
			func() error {
				return rc.Do(context.Background(), rc.B().Zrem().Key(name).Member(id).Build()).Error()
			},
		}, nil
	}),
}

var zsetAcquire = rueidis.NewLuaScript(`
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call("ZADD", KEYS[1], now + ARGV[3], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1`)
