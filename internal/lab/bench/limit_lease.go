package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
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
var leaseLimits = []contender{
	{
		who: "limit-lease-rueidis", library: "rueidis",
		settings: "limit-token-rueidis with a deadline and renewals. No waiting.",
		sends:    []string{"evalsha", "eval", "ping"},
		open: onRueidis(func(rc rueidis.Client) session {
			lock, unlock, renew := rueidis.NewLuaScript(lockAgain), rueidis.NewLuaScript(deleteForNobody), rueidis.NewLuaScript(prolong)
			return driverSession{func(name string) mutex {
				keys := tokenKeys(name)
				return &leaseMutex{
					ask: func(ctx context.Context, id string) error {
						return lock.Exec(ctx, rc, keys, []string{id, ttlText}).Error()
					},
					leave: func(ctx context.Context, id string) error { return unlock.Exec(ctx, rc, keys, []string{id}).Error() },
					renew: func(ctx context.Context, id string) error {
						return renew.Exec(ctx, rc, keys[:1], []string{id, ttlText}).Error()
					},
				}
			}, rc.Close}
		}),
	},
	{
		who: "limit-lease-goredis", library: "goredis",
		settings: sameThroughGoRedis,
		sends:    []string{"evalsha", "eval"},
		open: func(s setup) (session, error) {
			rc := newGoRedis(s.Addr)
			lock, unlock, renew := redis.NewScript(lockAgain), redis.NewScript(deleteForNobody), redis.NewScript(prolong)
			return driverSession{func(name string) mutex {
				keys := tokenKeys(name)
				return &leaseMutex{
					ask:   func(ctx context.Context, id string) error { return lock.Run(ctx, rc, keys, id, ttlText).Err() },
					leave: func(ctx context.Context, id string) error { return unlock.Run(ctx, rc, keys, id).Err() },
					renew: func(ctx context.Context, id string) error { return renew.Run(ctx, rc, keys[:1], id, ttlText).Err() },
				}
			}, func() { _ = rc.Close() }}, nil
		},
	},
}

var errOver = errors.New("the lease is over")

// leaseMutex is one name.
type leaseMutex struct {
	ask, leave, renew func(ctx context.Context, id string) error

	id              string
	context         context.Context // of the holder
	end             context.CancelCauseFunc
	deadline, again *time.Timer
}

func (m *leaseMutex) lock(ctx context.Context) error {
	m.id = rand.Text()
	asked := time.Now()
	if err := m.ask(ctx, m.id); err != nil {
		return err
	}
	m.context, m.end = context.WithCancelCause(context.Background())
	m.deadline = time.AfterFunc(time.Until(asked.Add(ttl-ttl/50)), func() { m.end(errOver) })
	m.again = time.AfterFunc(ttl/3, m.goOn)
	return nil
}

// goOn renews once: in no cell does a lock last longer.
func (m *leaseMutex) goOn() {
	if m.renew(m.context, m.id) == nil {
		m.deadline.Reset(ttl - ttl/50)
	}
}

func (m *leaseMutex) unlock() error {
	m.again.Stop()
	m.deadline.Stop()
	m.end(nil)
	return m.leave(context.Background(), m.id)
}
