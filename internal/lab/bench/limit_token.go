package bench

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// setWithToken is SET NX with a fence token: above every token before, and above
// the server's clock, so that it rises even when the newest was lost.
const setWithToken = `
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[2])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
token = string.format("%.0f", token)
redis.call("SET", KEYS[2], token, "PX", "86400000")
return token`

var (
	rueidisSetWithToken = rueidis.NewLuaScript(setWithToken)
	goRedisSetWithToken = redis.NewScript(setWithToken)
	ttlText             = strconv.FormatInt(ttl.Milliseconds(), 10)
)

type rueidisToken struct{ rueidisSet }

func (m *rueidisToken) lock(ctx context.Context) error {
	return rueidisSetWithToken.Exec(ctx, m.rc, []string{m.name, "fence:{" + m.name + "}"}, []string{m.id, ttlText}).Error()
}

type goRedisToken struct{ goRedisSet }

func (m *goRedisToken) lock(ctx context.Context) error {
	return goRedisSetWithToken.Run(ctx, m.rc, []string{m.name, "fence:{" + m.name + "}"}, m.id, ttlText).Err()
}
