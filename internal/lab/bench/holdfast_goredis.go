package bench

import (
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/goredisstore"
)

var holdfastGoRedisContender = contender{
	who:      "holdfast-goredis",
	library:  "goredis",
	settings: "goredisstore on go-redis with PoolSize 512 and ContextTimeoutEnabled.",
	sends:    []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"},
	open: func(s setup) (session, error) {
		rc := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: 512, ContextTimeoutEnabled: true})
		return holdfastSession{holdfast.New(goredisstore.New(rc), optionsFor(s)), func() { _ = rc.Close() }}, nil
	},
}
