package limit

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

const (
	// setWithToken is SET NX for a name that nobody stands in line for, with a fence
	// token: above every token before, and above the server's clock, so that it rises
	// even when the newest was lost.
	setWithToken = `
if redis.call("ZCARD", KEYS[3]) > 0 then return false end
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[2])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
token = string.format("%.0f", token)
redis.call("SET", KEYS[2], token, "PX", "86400000")
return token`

	// deleteForNobody is compare-and-delete of a name that nobody stands in line for.
	deleteForNobody = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] or redis.call("ZCARD", KEYS[3]) > 0 then return 0 end
return redis.call("DEL", KEYS[1])`
)

var (
	rueidisSetWithToken    = rueidis.NewLuaScript(setWithToken)
	goRedisSetWithToken    = redis.NewScript(setWithToken)
	rueidisDeleteForNobody = rueidis.NewLuaScript(deleteForNobody)
	goRedisDeleteForNobody = redis.NewScript(deleteForNobody)
)

// tokenKeys are of one slot, as those of a lock have to be.
func tokenKeys(name string) []string {
	return []string{name, "fence:{" + name + "}", "line:{" + name + "}"}
}

type rueidisToken struct{ rueidisSet }

func (m *rueidisToken) Lock(ctx context.Context) error {
	return rueidisSetWithToken.Exec(ctx, m.rc, tokenKeys(m.name), []string{m.id, contend.TTLText}).Error()
}

func (m *rueidisToken) Unlock() error {
	return rueidisDeleteForNobody.Exec(context.Background(), m.rc, tokenKeys(m.name), []string{m.id}).Error()
}

type goRedisToken struct{ goRedisSet }

func (m *goRedisToken) Lock(ctx context.Context) error {
	return goRedisSetWithToken.Run(ctx, m.rc, tokenKeys(m.name), m.id, contend.TTLText).Err()
}

func (m *goRedisToken) Unlock() error {
	return goRedisDeleteForNobody.Run(context.Background(), m.rc, tokenKeys(m.name), m.id).Err()
}
