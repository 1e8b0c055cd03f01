package limit

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

const (
	// lockAgain is setWithToken for an id of this one try: asked a second time, since an
	// answer was lost, it finds its own.
	lockAgain = `
local holder = redis.call("GET", KEYS[1])
if holder and holder ~= ARGV[1] or not holder and redis.call("ZCARD", KEYS[3]) > 0 then return false end
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[2])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
token = string.format("%.0f", token)
redis.call("SET", KEYS[2], token, "PX", "86400000")
return token`

	prolong = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("PEXPIRE", KEYS[1], ARGV[2])`
)

// leaseLimits are the least locks whose holder knows when it holds no more.
var leaseLimits = []contend.Contender{
	{
		Who: "limit-lease-rueidis", Library: "rueidis",
		Settings: "limit-token-rueidis with a deadline and renewals. No waiting.",
		Sends:    []string{"evalsha", "eval", "ping"},
		Open: contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex {
			keys := tokenKeys(name)
			return &leaseMutex{
				ask: func(ctx context.Context, id string) error {
					return rueidisLockAgain.Exec(ctx, rc, keys, []string{id, contend.TTLText}).Error()
				},
				leave: func(ctx context.Context, id string) error {
					return rueidisDeleteForNobody.Exec(ctx, rc, keys, []string{id}).Error()
				},
				renew: func(ctx context.Context, id string) error {
					return rueidisProlong.Exec(ctx, rc, keys[:1], []string{id, contend.TTLText}).Error()
				},
			}
		}),
	},
	{
		Who: "limit-lease-goredis", Library: "goredis",
		Settings: sameThroughGoRedis,
		Sends:    []string{"evalsha", "eval"},
		Open: contend.OpenGoRedis(func(rc *redis.Client, name string) contend.Mutex {
			keys := tokenKeys(name)
			return &leaseMutex{
				ask: func(ctx context.Context, id string) error {
					return goRedisLockAgain.Run(ctx, rc, keys, id, contend.TTLText).Err()
				},
				leave: func(ctx context.Context, id string) error { return goRedisDeleteForNobody.Run(ctx, rc, keys, id).Err() },
				renew: func(ctx context.Context, id string) error {
					return goRedisProlong.Run(ctx, rc, keys[:1], id, contend.TTLText).Err()
				},
			}
		}),
	},
}

var (
	rueidisLockAgain, goRedisLockAgain = rueidis.NewLuaScript(lockAgain), redis.NewScript(lockAgain)
	rueidisProlong, goRedisProlong     = rueidis.NewLuaScript(prolong), redis.NewScript(prolong)
)

var errOver = errors.New("the lease is over")

// leaseMutex is one name.
type leaseMutex struct {
	ask, leave, renew func(ctx context.Context, id string) error

	id              string
	context         context.Context // of the holder
	end             context.CancelCauseFunc
	deadline, again *time.Timer
}

func (m *leaseMutex) Lock(ctx context.Context) error {
	m.id = rand.Text()
	asked := time.Now()
	if err := m.ask(ctx, m.id); err != nil {
		return err
	}
	m.context, m.end = context.WithCancelCause(context.Background())
	m.deadline = time.AfterFunc(time.Until(asked.Add(contend.TTL-contend.TTL/50)), func() { m.end(errOver) })
	m.again = time.AfterFunc(contend.TTL/3, m.goOn)
	return nil
}

// goOn renews once: in no cell does a lock last longer.
func (m *leaseMutex) goOn() {
	if m.renew(m.context, m.id) == nil {
		m.deadline.Reset(contend.TTL - contend.TTL/50)
	}
}

func (m *leaseMutex) Unlock() error {
	m.again.Stop()
	m.deadline.Stop()
	m.end(nil)
	return m.leave(context.Background(), m.id)
}
