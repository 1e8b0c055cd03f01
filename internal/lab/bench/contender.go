package bench

import (
	"context"
	"strings"
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
	external bool // redis-benchmark takes the place of callers
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

// isOurs reports whether it is holdfast.
func (c contender) isOurs() bool { return strings.HasPrefix(c.who, "holdfast") }

// isLimit reports whether it is no lock, or a poor one, beside which locks are measured.
func (c contender) isLimit() bool { return strings.HasPrefix(c.who, "limit") }

// isPeer reports whether it is what holdfast is compared with.
func (c contender) isPeer() bool {
	return c.who != "" && c.who != nobody && !c.isOurs() && !c.isLimit()
}

// nobody locks nothing: a contender of tests.
const nobody = "none"

// part is what one holder takes of what a name has.
type part struct{ weight, capacity int64 }

// alone reports whether nobody else may be inside.
func (p part) alone() bool { return p.weight == p.capacity }
