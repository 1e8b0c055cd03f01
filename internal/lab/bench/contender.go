package bench

import (
	"context"
	"time"
)

// contender is one library, with the settings it does best with.
type contender struct {
	who      string
	settings string   // what differs from its defaults and why, for the report
	sends    []string // every command its client sends once it is connected, see commands.go
	open     func(addr string) (session, error)
}

// session is a contender's client in one process, used by all its callers.
type session interface {
	// lock waits until it holds name or ctx ends, and returns what gives the
	// name back.
	lock(ctx context.Context, name string) (release func() error, err error)
	close()
}

// ttl is long enough that no lock of a cell ends by itself. Those that renew by
// themselves keep their own default.
const ttl = 10 * time.Second

// peers are what holdfast is compared with.
var peers = []contender{redsyncContender, redislockContender, rueidislockContender}

// contenders are all that run in the workloads.
func contenders() []contender { return append([]contender{holdfastContender}, peers...) }

// contenderNamed finds a contender or a limit by its name, for the children.
func contenderNamed(who string) (contender, bool) {
	for _, list := range [][]contender{contenders(), limits} {
		for _, c := range list {
			if c.who == who {
				return c, true
			}
		}
	}
	return contender{}, false
}
