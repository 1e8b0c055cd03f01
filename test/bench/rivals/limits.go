package rivals

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// LoopLimit is the work without a lock, by one caller.
var LoopLimit = Contender{
	Name: "limit", Settings: "one caller's loop and its measurement, without a lock.", Alone: true,
	Open: func(Setup) (Maker, error) {
		nothing := funcs{lock: func(context.Context) error { return nil }}
		return func(int, string) (Mutex, error) { return nothing, nil }, nil
	},
}

// PingLimit is one round trip, and PingIdleLimit one on a quiet machine, as a hand-over
// between processes is.
var (
	PingLimit     = pingLimit("limit-ping-rueidis", "one PING for an acquisition, none for a release, through rueidis.", 0)
	PingIdleLimit = pingLimit("limit-ping-idle", "PING through rueidis after 1 to 3 ms of sleep; about one process is active, as in a hand-over.", time.Millisecond)
)

func pingLimit(name, settings string, idle time.Duration) Contender {
	return Contender{
		Name: name, Library: "rueidis", Settings: settings, Idle: idle, Outside: true,
		Open: onRueidis(func(rc rueidis.Client, _ string) (Mutex, error) {
			return funcs{lock: func(ctx context.Context) error { return rc.Do(ctx, rc.B().Ping().Build()).Error() }}, nil
		}),
	}
}

// Minimal locks and the floor under all of them, on rueidis and on go-redis.
var (
	SetLimits = onBoth("limit", "SET NX, then a compare-and-delete script. No renewal, no token, no waiting.", "set",
		func(c client, name string) Mutex {
			id := rand.Text()
			return funcs{
				func(ctx context.Context) error { return c.setNX(ctx, name, id) },
				func() error { return c.run(context.Background(), compareAndDelete, []string{name}, id) },
			}
		})
	FloorLimits = onBoth("limit-two-scripts", "EVALSHA of `return 1`, twice.", "evalsha",
		func(c client, _ string) Mutex {
			return funcs{
				func(ctx context.Context) error { return c.run(ctx, returnOne, nil) },
				func() error { return c.run(context.Background(), returnOne, nil) },
			}
		})
)

func onBoth(name, settings, sends string, mutex func(c client, name string) Mutex) []Contender {
	return []Contender{
		{Name: name + "-rueidis", Library: "rueidis", Settings: settings, Sends: []string{sends}, Open: onRueidis(func(rc rueidis.Client, name string) (Mutex, error) {
			return mutex(onRueidisClient{rc}, name), nil
		})},
		{Name: name + "-goredis", Library: "goredis", Settings: settings, Sends: []string{sends}, Open: onGoRedis(func(rc *redis.Client, name string) Mutex {
			return mutex(onGoRedisClient{rc}, name)
		})},
	}
}

// client is what a limit needs of a client library.
type client interface {
	setNX(ctx context.Context, name, id string) error
	run(ctx context.Context, s script, keys []string, args ...string) error
}

// script is a script for both client libraries.
type script struct {
	rueidis *rueidis.Lua
	goRedis *redis.Script
}

func newScript(text string) script { return script{rueidis.NewLuaScript(text), redis.NewScript(text)} }

type onRueidisClient struct{ rc rueidis.Client }

func (c onRueidisClient) setNX(ctx context.Context, name, id string) error {
	return c.rc.Do(ctx, c.rc.B().Set().Key(name).Value(id).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
}

func (c onRueidisClient) run(ctx context.Context, s script, keys []string, args ...string) error {
	return s.rueidis.Exec(ctx, c.rc, keys, args).Error()
}

type onGoRedisClient struct{ rc *redis.Client }

func (c onGoRedisClient) setNX(ctx context.Context, name, id string) error {
	return c.rc.SetArgs(ctx, name, id, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
}

func (c onGoRedisClient) run(ctx context.Context, s script, keys []string, args ...string) error {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	return s.goRedis.Run(ctx, c.rc, keys, values...).Err()
}

var (
	returnOne        = newScript(`return 1`)
	compareAndDelete = newScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
)

// joinQueue and handOver are the minimal lock that is handed over in order: a caller that
// finds the name held joins a queue, and a release gives the name to the first waiter that
// listens, with a token, and tells it.
var (
	joinQueue = rueidis.NewLuaScript(`
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  redis.call("RPUSH", KEYS[2], ARGV[1])
  return 0
end` + nextToken + `return 1`)
	handOver = rueidis.NewLuaScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
local next
repeat next = redis.call("LPOP", KEYS[2]) until not next or redis.call("PUBSUB", "NUMSUB", next)[2] > 0
if not next then return redis.call("DEL", KEYS[1]) end
redis.call("SET", KEYS[1], next, "PX", ARGV[2])` + nextToken + `return redis.call("PUBLISH", next, token)`)
)

const nextToken = `
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[3])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
token = string.format("%.0f", token)
redis.call("SET", KEYS[3], token, "PX", "86400000")
`

// QueueLimit is the minimal lock that is handed over in order.
var QueueLimit = Contender{
	Name: "limit-queue-token", Library: "rueidis",
	Settings: "a minimal lock with a queue, pushes and tokens; a release skips dead waiters. No renewal; a dead holder blocks the queue.",
	Open:     onRueidis(newQueued),
}

// newQueued listens when it returns, for as long as the process lives.
func newQueued(rc rueidis.Client, name string) (Mutex, error) {
	id, granted, subscribed := rand.Text(), make(chan struct{}, 1), make(chan struct{})
	dedicated, _ := rc.Dedicate()
	var first sync.Once
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(rueidis.PubSubMessage) { granted <- struct{}{} },
		OnSubscription: func(rueidis.PubSubSubscription) { first.Do(func() { close(subscribed) }) },
	})
	if err := dedicated.Do(context.Background(), rc.B().Subscribe().Channel(id).Build()).Error(); err != nil {
		return nil, err
	}
	select {
	case <-subscribed:
	case <-time.After(10 * time.Second):
		return nil, errors.New("limit-queue-token: not subscribed after 10 s")
	}
	keys, args := []string{name, "line:" + name, "fence:" + name}, []string{id, ttlText}
	return funcs{
		func(ctx context.Context) error {
			got, err := joinQueue.Exec(context.Background(), rc, keys, args).AsInt64()
			if err != nil || got == 1 {
				return err
			}
			select {
			case <-granted:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		func() error { return handOver.Exec(context.Background(), rc, keys, args).Error() },
	}, nil
}
