package rivals

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// ZsetRecipe is the counting semaphore that is told everywhere: who is among the
// first of a sorted set, by the time that each gives itself, has it.
var ZsetRecipe = contend.Contender{
	Who:     "zset-recipe",
	Library: "goredis",
	Settings: "the well-known recipe, through go-redis: a sorted set by the client's clock, in a MULTI. With a slow clock a client is let in although all permits are taken. It polls every " +
		contend.PollText + ". No renewal, no token, no weights.",
	Sends: []string{"multi", "exec", "zremrangebyscore", "zadd", "zrank", "zrem"},
	Open:  contend.OpenGoRedis(func(rc *redis.Client, name string) contend.Mutex { return &zsetMulti{rc, name, rand.Text()} }),
}

type zsetMulti struct {
	rc       *redis.Client
	name, id string
}

func (m *zsetMulti) Lock(ctx context.Context) error {
	for {
		now := time.Now()
		var rank *redis.IntCmd
		if _, err := m.rc.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.ZRemRangeByScore(ctx, m.name, "-inf", strconv.FormatInt(now.Add(-contend.TTL).UnixMicro(), 10))
			p.ZAdd(ctx, m.name, redis.Z{Score: float64(now.UnixMicro()), Member: m.id})
			rank = p.ZRank(ctx, m.name, m.id)
			return nil
		}); err != nil {
			return err
		}
		if rank.Val() < SemaphoreSize {
			return nil
		}
		if err := m.Unlock(); err != nil {
			return err
		}
		if err := pollAgain(ctx); err != nil {
			return err
		}
	}
}

func (m *zsetMulti) Unlock() error { return m.rc.ZRem(context.Background(), m.name, m.id).Err() }

// ZsetScript is the same made right: in one script, by the server's clock.
var ZsetScript = contend.Contender{
	Who:     "zset-script",
	Library: "rueidis",
	Settings: "the correct recipe, through rueidis: one script by the server's clock. It polls every " +
		contend.PollText + ". No renewal, no token, no weights.",
	Sends: []string{"evalsha", "eval", "zrem", "ping"},
	Open:  contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex { return &ZsetLua{rc, name, rand.Text()} }),
}

var zsetAcquire = rueidis.NewLuaScript(`
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call("ZADD", KEYS[1], now + ARGV[3], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1`)

// ZsetLua is a semaphore on a sorted set.
type ZsetLua struct {
	RC       rueidis.Client
	Name, ID string
}

// Lock polls for a permit.
func (m *ZsetLua) Lock(ctx context.Context) error {
	for {
		got, err := m.Acquire(ctx, SemaphoreSize)
		if got || err != nil {
			return err
		}
		if err := pollAgain(ctx); err != nil {
			return err
		}
	}
}

// Acquire tries to get one of so many permits.
func (m *ZsetLua) Acquire(ctx context.Context, size int) (bool, error) {
	n, err := zsetAcquire.Exec(ctx, m.RC, []string{m.Name}, []string{m.ID, strconv.Itoa(size), contend.TTLText}).AsInt64()
	return n == 1, err
}

// Unlock gives the permit back.
func (m *ZsetLua) Unlock() error {
	return m.RC.Do(context.Background(), m.RC.B().Zrem().Key(m.Name).Member(m.ID).Build()).Error()
}

// pollAgain waits as those that poll do.
func pollAgain(ctx context.Context) error {
	select {
	case <-time.After(contend.PollDelay()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
