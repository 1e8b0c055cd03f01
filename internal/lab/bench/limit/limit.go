// Package limit has contenders that are no locks, or poor ones: what a lock on this
// machine, server and client library could reach at best.
package limit

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

// Limits are no locks, or poor ones: what a lock on this machine, server and
// client library could reach at best. Each workload names those that run beside
// it. "limit" alone is the loop: what callers do, without any lock.
var Limits = slices.Concat(pushLimits, lineLimits, turnsLimits, leaseLimits, []contend.Contender{
	LoopLimit,
	RueidisLimit,
	{
		Who: "limit-goredis", Library: "goredis",
		Settings: sameThroughGoRedis,
		Sends:    []string{"set", "evalsha", "eval"},
		Open:     contend.OpenGoRedis(func(rc *redis.Client, name string) contend.Mutex { return &goRedisSet{rc, name, rand.Text()} }),
	},
	{
		Who: "limit-token-rueidis", Library: "rueidis",
		Settings: "SET NX and a token that rises also after a loss of data, in a script. No renewal, no waiting.",
		Sends:    []string{"evalsha", "eval", "ping"},
		Open: contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex {
			return &rueidisToken{rueidisSet{rc, name, rand.Text()}}
		}),
	},
	{
		Who: "limit-token-goredis", Library: "goredis",
		Settings: sameThroughGoRedis,
		Sends:    []string{"evalsha", "eval"},
		Open: contend.OpenGoRedis(func(rc *redis.Client, name string) contend.Mutex {
			return &goRedisToken{goRedisSet{rc, name, rand.Text()}}
		}),
	},
	togetherLimit,
	rueidisPing("limit-ping-rueidis", "one PING for an acquisition, none for a release, through rueidis.", 0),
	{
		Who: "limit-ping-goredis", Library: "goredis",
		Settings: "the same through go-redis.",
		Sends:    []string{"ping"}, Outside: true,
		Open: contend.OpenGoRedis(func(rc *redis.Client, _ string) contend.Mutex { return goRedisPing{rc} }),
	},
	rueidisPing("limit-ping-idle", "PING through rueidis after 1 to 3 ms of sleep; about one process is active, as in a hand-over.",
		time.Millisecond),
	redisBenchmarkLimit,
})

// sameThroughGoRedis is said of a limit that has a twin on rueidis.
const sameThroughGoRedis = "the same through go-redis with PoolSize 512."

// LoopLimit is the work without any lock, by one caller.
var LoopLimit = contend.Contender{
	Who:      "limit",
	Settings: "one caller's loop and its measurement, without a lock.",
	Alone:    true,
	Open:     func(contend.Setup) (contend.Session, error) { return noSession{}, nil },
}

type noSession struct{}

func (noSession) Mutex(int, string) (contend.Mutex, error) { return noMutex{}, nil }
func (noSession) Close()                                   {}

type noMutex struct{}

func (noMutex) Lock(context.Context) error { return nil }
func (noMutex) Unlock() error              { return nil }

func rueidisPing(who, settings string, idle time.Duration) contend.Contender {
	return contend.Contender{
		Who: who, Library: "rueidis", Settings: settings, Idle: idle,
		Sends: []string{"ping"}, Outside: true,
		Open: contend.OpenRueidis(func(rc rueidis.Client, _ string) contend.Mutex { return rueidisPinger{rc} }),
	}
}

type rueidisPinger struct{ rc rueidis.Client }

func (m rueidisPinger) Lock(ctx context.Context) error {
	return m.rc.Do(ctx, m.rc.B().Ping().Build()).Error()
}
func (m rueidisPinger) Unlock() error { return nil }

type goRedisPing struct{ rc *redis.Client }

func (m goRedisPing) Lock(ctx context.Context) error { return m.rc.Ping(ctx).Err() }
func (m goRedisPing) Unlock() error                  { return nil }

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

var (
	rueidisCompareAndDelete = rueidis.NewLuaScript(compareAndDelete)
	goRedisCompareAndDelete = redis.NewScript(compareAndDelete)
)

type rueidisSet struct {
	rc       rueidis.Client
	name, id string
}

func (m *rueidisSet) Lock(ctx context.Context) error {
	return m.rc.Do(ctx, m.rc.B().Set().Key(m.name).Value(m.id).Nx().PxMilliseconds(contend.TTL.Milliseconds()).Build()).Error()
}

func (m *rueidisSet) Unlock() error {
	return rueidisCompareAndDelete.Exec(context.Background(), m.rc, []string{m.name}, []string{m.id}).Error()
}

type goRedisSet struct {
	rc       *redis.Client
	name, id string
}

func (m *goRedisSet) Lock(ctx context.Context) error {
	return m.rc.SetArgs(ctx, m.name, m.id, redis.SetArgs{Mode: "NX", TTL: contend.TTL}).Err()
}

func (m *goRedisSet) Unlock() error {
	return goRedisCompareAndDelete.Run(context.Background(), m.rc, []string{m.name}, m.id).Err()
}

// RueidisLimit is the lock that most people write themselves.
var RueidisLimit = contend.Contender{
	Who: "limit-rueidis", Library: "rueidis",
	Settings: "SET NX, then a compare-and-delete script, through rueidis. No renewal, no token, no waiting.",
	Sends:    []string{"set", "evalsha", "eval", "ping"},
	Open:     contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex { return &rueidisSet{rc, name, rand.Text()} }),
}

// redisBenchmarkLimit is a round trip without any client of Go.
var redisBenchmarkLimit = contend.Contender{
	Who:      "limit-redis-benchmark",
	Settings: "redis-benchmark with one connection for each caller: SET NX PX of mostly free names, no release.",
	Sends:    []string{"set"},
	External: true,
}

// PingBeside is the PING that a hand-over is compared with.
const PingBeside = "limit-ping-idle"
