// Package limit has contenders that are no locks, or poor ones: what a lock on this
// machine, server and client library could reach at best.
package limit

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// Limits are all of them. Each workload names those that run beside it.
var Limits = slices.Concat(queueLimits, leaseLimits, []contend.Contender{LoopLimit}, setLimits, tokenLimits, pingLimits)

// LoopLimit is the work without any lock, by one caller.
var LoopLimit = contend.Contender{
	Who:      "limit",
	Settings: "one caller's loop and its measurement, without a lock.",
	Alone:    true,
	Open: func(contend.Setup) (contend.Session, error) {
		return contend.DriverSession{
			Grip: func(string) contend.Mutex { return grip{doNothing, doNothing} },
			End:  func() {},
		}, nil
	},
}

func doNothing(context.Context) error { return nil }

// RueidisLimit is the lock that most people write themselves.
var RueidisLimit = setLimits[0]

// PingBeside is the PING that a hand-over is compared with.
const PingBeside = "limit-ping-idle"

// pingLimits lock nothing: they stay out of the critical section.
var pingLimits = []contend.Contender{
	pingLimit("limit-ping-rueidis", "one PING for an acquisition, none for a release, through rueidis.", 0),
	pingLimit(PingBeside, "PING through rueidis after 1 to 3 ms of sleep; about one process is active, as in a hand-over.", time.Millisecond),
}

func pingLimit(who, settings string, idle time.Duration) contend.Contender {
	return contend.Contender{
		Who: who, Library: "rueidis", Settings: settings, Idle: idle,
		Sends: []string{"ping"}, Outside: true,
		Open: contend.OpenRueidis(func(rc rueidis.Client, _ string) contend.Mutex {
			return grip{func(ctx context.Context) error { return rc.Do(ctx, rc.B().Ping().Build()).Error() }, doNothing}
		}),
	}
}

// onBoth makes a limit on each client library.
func onBoth(who, settings string, sends []string, lock func(c client, name string) contend.Mutex) []contend.Contender {
	return []contend.Contender{
		{
			Who: who + "-rueidis", Library: "rueidis", Settings: settings, Sends: append(slices.Clone(sends), "ping"),
			Open: contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex { return lock(onRueidis{rc}, name) }),
		},
		{
			Who: who + "-goredis", Library: "goredis", Settings: "the same through go-redis with PoolSize 512.", Sends: sends,
			Open: contend.OpenGoRedis(func(rc *redis.Client, name string) contend.Mutex { return lock(onGoRedis{rc}, name) }),
		},
	}
}

// grip is a mutex of two functions.
type grip struct{ lock, unlock func(context.Context) error }

func (g grip) Lock(ctx context.Context) error { return g.lock(ctx) }
func (g grip) Unlock() error                  { return g.unlock(context.Background()) }

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

type onRueidis struct{ rc rueidis.Client }

func (c onRueidis) setNX(ctx context.Context, name, id string) error {
	return c.rc.Do(ctx, c.rc.B().Set().Key(name).Value(id).Nx().PxMilliseconds(contend.TTL.Milliseconds()).Build()).Error()
}

func (c onRueidis) run(ctx context.Context, s script, keys []string, args ...string) error {
	return s.rueidis.Exec(ctx, c.rc, keys, args).Error()
}

type onGoRedis struct{ rc *redis.Client }

func (c onGoRedis) setNX(ctx context.Context, name, id string) error {
	return c.rc.SetArgs(ctx, name, id, redis.SetArgs{Mode: "NX", TTL: contend.TTL}).Err()
}

func (c onGoRedis) run(ctx context.Context, s script, keys []string, args ...string) error {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	return s.goRedis.Run(ctx, c.rc, keys, values...).Err()
}
