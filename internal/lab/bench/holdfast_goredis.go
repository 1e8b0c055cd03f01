package bench

import (
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/goredisstore"
)

var holdfastGoRedisContender = contender{
	who:      "holdfast-goredis",
	library:  "goredis",
	settings: "goredisstore on go-redis with PoolSize 512, as its peers have it, else as holdfast.",
	sends:    []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"},
	open: func(s setup) (session, error) {
		rc := newGoRedis(s.Addr)
		return holdfastSession{holdfast.New(goredisstore.New(rc), optionsFor(s)), func() { _ = rc.Close() }}, nil
	},
}
