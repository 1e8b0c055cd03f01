package limit

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

var compareAndDelete = newScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// setLimits are the lock that most people write themselves.
var setLimits = onBoth("limit", "SET NX, then a compare-and-delete script, through rueidis. No renewal, no token, no waiting.",
	[]string{"set", "evalsha", "eval"},
	func(c client, name string) contend.Mutex {
		keys, id := []string{name}, rand.Text()
		return grip{
			func(ctx context.Context) error { return c.setNX(ctx, name, id) },
			func(ctx context.Context) error { return c.run(ctx, compareAndDelete, keys, id) },
		}
	})

// setWithToken is SET NX for a name without a queue, with a fencing token: above every
// token before, and above the server's clock, so that it rises even when the newest was
// lost. deleteForNobody is compare-and-delete of a name without a queue.
var (
	setWithToken = newScript(`
if redis.call("ZCARD", KEYS[3]) > 0 then return false end
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[2])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
token = string.format("%.0f", token)
redis.call("SET", KEYS[2], token, "PX", "86400000")
return token`)
	deleteForNobody = newScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] or redis.call("ZCARD", KEYS[3]) > 0 then return 0 end
return redis.call("DEL", KEYS[1])`)
)

// tokenLimits are the minimal locks with a fencing token.
var tokenLimits = onBoth("limit-token", "SET NX and a token that rises also after a loss of data, in a script. No renewal, no waiting.",
	[]string{"evalsha", "eval"},
	func(c client, name string) contend.Mutex {
		keys, id := tokenKeys(name), rand.Text()
		return grip{
			func(ctx context.Context) error { return c.run(ctx, setWithToken, keys, id, contend.TTLText) },
			func(ctx context.Context) error { return c.run(ctx, deleteForNobody, keys, id) },
		}
	})

// tokenKeys are of one slot, as those of a lock have to be.
func tokenKeys(name string) []string {
	return []string{name, "fence:{" + name + "}", "line:{" + name + "}"}
}

// lockAgain is setWithToken for an id of this one try: if it is asked a second time,
// because an answer was lost, it finds its own id.
var (
	lockAgain = newScript(`
local holder = redis.call("GET", KEYS[1])
if holder and holder ~= ARGV[1] or not holder and redis.call("ZCARD", KEYS[3]) > 0 then return false end
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[2])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
token = string.format("%.0f", token)
redis.call("SET", KEYS[2], token, "PX", "86400000")
return token`)
	prolong = newScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("PEXPIRE", KEYS[1], ARGV[2])`)
)

// leaseLimits are the minimal locks with a lease.
var leaseLimits = onBoth("limit-lease", "limit-token-rueidis with a deadline and renewals. No waiting.",
	[]string{"evalsha", "eval"},
	func(c client, name string) contend.Mutex { return &leaseMutex{client: c, keys: tokenKeys(name)} })

var errOver = errors.New("the lease is over")

// leaseMutex is a minimal lock with a lease on one name.
type leaseMutex struct {
	client client
	keys   []string

	id              string
	context         context.Context // of the holder
	end             context.CancelCauseFunc
	deadline, again *time.Timer
}

func (m *leaseMutex) Lock(ctx context.Context) error {
	m.id = rand.Text()
	asked := time.Now()
	if err := m.client.run(ctx, lockAgain, m.keys, m.id, contend.TTLText); err != nil {
		return err
	}
	m.context, m.end = context.WithCancelCause(context.Background())
	m.deadline = time.AfterFunc(time.Until(asked.Add(contend.TTL-contend.TTL/50)), func() { m.end(errOver) })
	m.again = time.AfterFunc(contend.TTL/3, m.renew)
	return nil
}

// renew renews once: in no cell does a lock last longer.
func (m *leaseMutex) renew() {
	if m.client.run(m.context, prolong, m.keys[:1], m.id, contend.TTLText) == nil {
		m.deadline.Reset(contend.TTL - contend.TTL/50)
	}
}

func (m *leaseMutex) Unlock() error {
	m.again.Stop()
	m.deadline.Stop()
	m.end(nil)
	return m.client.run(context.Background(), deleteForNobody, m.keys, m.id)
}
