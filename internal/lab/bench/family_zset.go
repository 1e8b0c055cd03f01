package bench

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// zsetRecipe is the counting semaphore that is told everywhere: who is among the
// first of a sorted set, by the time that each gives itself, has it.
var zsetRecipe = contender{
	who:     "zset-recipe",
	library: "goredis",
	settings: "the well-known recipe, through go-redis: a sorted set by the client's clock, in a MULTI. With a slow clock a client is let in although all permits are taken. It polls every " +
		pollText + ". No renewal, no token, no weights.",
	sends: []string{"multi", "exec", "zremrangebyscore", "zadd", "zrank", "zrem"},
	open:  openGoRedis(func(rc *redis.Client, name string) mutex { return &zsetMulti{rc, name, rand.Text()} }),
}

type zsetMulti struct {
	rc       *redis.Client
	name, id string
}

func (m *zsetMulti) lock(ctx context.Context) error {
	for {
		now := time.Now()
		var rank *redis.IntCmd
		if _, err := m.rc.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.ZRemRangeByScore(ctx, m.name, "-inf", strconv.FormatInt(now.Add(-ttl).UnixMicro(), 10))
			p.ZAdd(ctx, m.name, redis.Z{Score: float64(now.UnixMicro()), Member: m.id})
			rank = p.ZRank(ctx, m.name, m.id)
			return nil
		}); err != nil {
			return err
		}
		if rank.Val() < semaphoreSize {
			return nil
		}
		if err := m.unlock(); err != nil {
			return err
		}
		if err := pollAgain(ctx); err != nil {
			return err
		}
	}
}

func (m *zsetMulti) unlock() error { return m.rc.ZRem(context.Background(), m.name, m.id).Err() }

// zsetScript is the same made right: in one script, by the server's clock.
var zsetScript = contender{
	who:     "zset-script",
	library: "rueidis",
	settings: "the correct recipe, through rueidis: one script by the server's clock. It polls every " +
		pollText + ". No renewal, no token, no weights.",
	sends: []string{"evalsha", "eval", "zrem", "ping"},
	open:  openRueidis(func(rc rueidis.Client, name string) mutex { return &zsetLua{rc, name, rand.Text()} }),
}

var zsetAcquire = rueidis.NewLuaScript(`
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call("ZADD", KEYS[1], now + ARGV[3], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1`)

type zsetLua struct {
	rc       rueidis.Client
	name, id string
}

func (m *zsetLua) lock(ctx context.Context) error {
	for {
		got, err := m.acquire(ctx, semaphoreSize)
		if got || err != nil {
			return err
		}
		if err := pollAgain(ctx); err != nil {
			return err
		}
	}
}

func (m *zsetLua) acquire(ctx context.Context, size int) (bool, error) {
	n, err := zsetAcquire.Exec(ctx, m.rc, []string{m.name}, []string{m.id, strconv.Itoa(size), ttlText}).AsInt64()
	return n == 1, err
}

func (m *zsetLua) unlock() error {
	return m.rc.Do(context.Background(), m.rc.B().Zrem().Key(m.name).Member(m.id).Build()).Error()
}

// pollAgain waits as those that poll do.
func pollAgain(ctx context.Context) error {
	select {
	case <-time.After(pollDelay()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
