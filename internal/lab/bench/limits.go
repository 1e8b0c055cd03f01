package bench

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// limits are no locks, or poor ones: what a lock on this machine, server and
// client library could reach at best. Each workload names those that run beside
// it. "limit" alone is the loop: what callers do, without any lock.
var limits = slices.Concat(pushLimits, lineLimits, turnsLimits, leaseLimits, []contender{
	loopLimit,
	rueidisLimit,
	{
		who: "limit-goredis", library: "goredis",
		settings: sameThroughGoRedis,
		sends:    []string{"set", "evalsha", "eval"},
		open:     openGoRedis(func(rc *redis.Client, name string) mutex { return &goRedisSet{rc, name, rand.Text()} }),
	},
	{
		who: "limit-token-rueidis", library: "rueidis",
		settings: "SET NX and a token that rises also after a loss of data, in a script. No renewal, no waiting.",
		sends:    []string{"evalsha", "eval", "ping"},
		open:     openRueidis(func(rc rueidis.Client, name string) mutex { return &rueidisToken{rueidisSet{rc, name, rand.Text()}} }),
	},
	{
		who: "limit-token-goredis", library: "goredis",
		settings: sameThroughGoRedis,
		sends:    []string{"evalsha", "eval"},
		open:     openGoRedis(func(rc *redis.Client, name string) mutex { return &goRedisToken{goRedisSet{rc, name, rand.Text()}} }),
	},
	togetherLimit,
	rueidisPing("limit-ping-rueidis", "one PING for an acquisition, none for a release, through rueidis.", 0),
	{
		who: "limit-ping-goredis", library: "goredis",
		settings: "the same through go-redis.",
		sends:    []string{"ping"}, outside: true,
		open: openGoRedis(func(rc *redis.Client, _ string) mutex { return goRedisPing{rc} }),
	},
	rueidisPing("limit-ping-idle", "PING through rueidis after 1 to 3 ms of sleep; about one process is active, as in a hand-over.",
		time.Millisecond),
	redisBenchmarkLimit,
})

// sameThroughGoRedis is said of a limit that has a twin on rueidis.
const sameThroughGoRedis = "the same through go-redis with PoolSize 512."

// loopLimit is the work without any lock, by one caller.
var loopLimit = contender{
	who:      "limit",
	settings: "one caller's loop and its measurement, without a lock.",
	alone:    true,
	open:     func(setup) (session, error) { return noSession{}, nil },
}

type noSession struct{}

func (noSession) mutex(int, string) (mutex, error) { return noMutex{}, nil }
func (noSession) close()                           {}

type noMutex struct{}

func (noMutex) lock(context.Context) error { return nil }
func (noMutex) unlock() error              { return nil }

func rueidisPing(who, settings string, idle time.Duration) contender {
	return contender{
		who: who, library: "rueidis", settings: settings, idle: idle,
		sends: []string{"ping"}, outside: true,
		open: openRueidis(func(rc rueidis.Client, _ string) mutex { return rueidisPinger{rc} }),
	}
}

type rueidisPinger struct{ rc rueidis.Client }

func (m rueidisPinger) lock(ctx context.Context) error {
	return m.rc.Do(ctx, m.rc.B().Ping().Build()).Error()
}
func (m rueidisPinger) unlock() error { return nil }

type goRedisPing struct{ rc *redis.Client }

func (m goRedisPing) lock(ctx context.Context) error { return m.rc.Ping(ctx).Err() }
func (m goRedisPing) unlock() error                  { return nil }

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

var (
	rueidisCompareAndDelete = rueidis.NewLuaScript(compareAndDelete)
	goRedisCompareAndDelete = redis.NewScript(compareAndDelete)
)

type rueidisSet struct {
	rc       rueidis.Client
	name, id string
}

func (m *rueidisSet) lock(ctx context.Context) error {
	return m.rc.Do(ctx, m.rc.B().Set().Key(m.name).Value(m.id).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
}

func (m *rueidisSet) unlock() error {
	return rueidisCompareAndDelete.Exec(context.Background(), m.rc, []string{m.name}, []string{m.id}).Error()
}

type goRedisSet struct {
	rc       *redis.Client
	name, id string
}

func (m *goRedisSet) lock(ctx context.Context) error {
	return m.rc.SetArgs(ctx, m.name, m.id, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
}

func (m *goRedisSet) unlock() error {
	return goRedisCompareAndDelete.Run(context.Background(), m.rc, []string{m.name}, m.id).Err()
}

// rueidisLimit is the lock that most people write themselves.
var rueidisLimit = contender{
	who: "limit-rueidis", library: "rueidis",
	settings: "SET NX, then a compare-and-delete script, through rueidis. No renewal, no token, no waiting.",
	sends:    []string{"set", "evalsha", "eval", "ping"},
	open:     openRueidis(func(rc rueidis.Client, name string) mutex { return &rueidisSet{rc, name, rand.Text()} }),
}

// redisBenchmarkLimit is a round trip without any client of Go.
var redisBenchmarkLimit = contender{
	who:      "limit-redis-benchmark",
	settings: "redis-benchmark with one connection for each caller: SET NX PX of mostly free names, no release.",
	sends:    []string{"set"},
	external: true,
}

// pingBeside is the PING that a hand-over is compared with.
const pingBeside = "limit-ping-idle"
