package rivals

import (
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// HoldfastGoRedisContender is holdfast through go-redis.
var HoldfastGoRedisContender = contend.Contender{
	Who:      "holdfast-goredis",
	Library:  "goredis",
	Settings: "goredisstore on go-redis with PoolSize 512 and ContextTimeoutEnabled.",
	Sends:    []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"},
	Open: func(s contend.Setup) (contend.Session, error) {
		rc := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: 512, ContextTimeoutEnabled: true})
		return holdfastSession{holdfast.New(goredisstore.New(rc), optionsFor(s)), func() { _ = rc.Close() }}, nil
	},
}
