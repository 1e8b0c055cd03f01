package bench

import (
	"context"
	"slices"
	"time"
)

// contender is one library, with the settings it does best with, or a limit.
type contender struct {
	who      string
	library  string        // the client library: goredis, rueidis; empty where it is none of these
	settings string        // what differs from its defaults and why, for the report
	sends    []string      // every command its client sends once it is connected, see counters.go
	alone    bool          // one caller in one process, whatever the workload says
	idle     time.Duration // slept at least before each acquisition
	outside  bool          // locks nothing and stays out of the critical section
	hangs    bool          // now and then for good: never without a ctx that ends
	open     func(setup) (session, error)
	measure  func(c *cell) (Row, error) // instead of callers in processes
}

// setup is what a contender is opened with.
type setup struct {
	Addr   string        // of redis-server
	Etcd   string        // of etcd; empty: there is none
	Linger time.Duration // for those that can
}

// session is a contender's client in one process, used by all its callers.
type session interface {
	// mutex is what one caller of the process locks one name by, again and
	// again. Nobody else uses it.
	mutex(caller int, name string) (mutex, error)
	close()
}

// mutex is locked and unlocked by turns. lock waits until it holds the name or
// ctx ends.
type mutex interface {
	lock(ctx context.Context) error
	unlock() error
}

// sharer is a mutex of which several hold a part at a time. Before each lock it
// is told which.
type sharer interface{ ask(p part) }

// ttl is long enough that no lock of a cell ends by itself. Those that renew by
// themselves keep their own default.
const ttl = 10 * time.Second

// ours are what is compared, one for each client library.
var ours = []contender{holdfastContender, holdfastGoRedisContender}

// peers are what holdfast is compared with.
var peers = []contender{redsyncContender, redislockContender, rueidislockContender, rueidislockNoLoopContender, etcdContender}

// contenders are all that run in the workloads.
func contenders() []contender { return slices.Concat(ours, peers) }

func (c contender) isOurs() bool {
	return slices.ContainsFunc(ours, func(o contender) bool { return o.who == c.who })
}

func (c contender) isPeer() bool {
	return slices.ContainsFunc(slices.Concat(peers, familyPeers), func(p contender) bool { return p.who == c.who })
}

// contenderNamed finds a contender or a limit by its name, for the children.
func contenderNamed(who string) (contender, bool) {
	all := slices.Concat(contenders(), familyPeers, limits)
	i := slices.IndexFunc(all, func(c contender) bool { return c.who == who })
	if i < 0 {
		return contender{}, false
	}
	return all[i], true
}
