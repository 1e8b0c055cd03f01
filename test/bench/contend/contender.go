// Package contend has the words of the benchmark: contender, session, mutex, workload,
// and how long a cell takes.
package contend

import (
	"context"
	"strings"
	"time"
)

// Contender is one library, with the settings it does best with, or a limit.
type Contender struct {
	Who      string
	Library  string        // the client library: goredis, rueidis; empty where it is none of these
	Settings string        // what differs from its defaults and why, for the report
	Sends    []string      // every command its client sends once it is connected, see scenario/counters.go
	Alone    bool          // one caller in one process, whatever the workload says
	Idle     time.Duration // slept at least before each acquisition
	Outside  bool          // locks nothing and stays out of the critical section
	Hangs    bool          // now and then for good: never without a ctx that ends
	Open     func(Setup) (Session, error)
}

// Setup is what a contender is opened with.
type Setup struct {
	Addr   string        // of redis-server
	Etcd   string        // of etcd; empty: there is none
	Linger time.Duration // for those that can
}

// Session is a contender's client in one process, used by all its callers.
type Session interface {
	// mutex is what one caller of the process locks one name by, again and
	// again. Nobody else uses it.
	Mutex(caller int, name string) (Mutex, error)
	Close()
}

// Mutex is locked and unlocked by turns. lock waits until it holds the name or
// ctx ends.
type Mutex interface {
	Lock(ctx context.Context) error
	Unlock() error
}

// Sharer is a mutex of which several hold a part at a time. Before each lock it
// is told which.
type Sharer interface{ Ask(p Part) }

// TTL is long enough that no lock of a cell ends by itself. Those that renew by
// themselves keep their own default.
const TTL = 10 * time.Second

// IsOurs reports whether it is holdfast.
func (c Contender) IsOurs() bool { return strings.HasPrefix(c.Who, "holdfast") }

// IsLimit reports whether it is no lock, or a poor one, beside which locks are measured.
func (c Contender) IsLimit() bool { return strings.HasPrefix(c.Who, "limit") }

// IsPeer reports whether it is what holdfast is compared with.
func (c Contender) IsPeer() bool {
	return c.Who != "" && c.Who != nobody && !c.IsOurs() && !c.IsLimit()
}

// nobody locks nothing: a contender of tests.
const nobody = "none"

// Part is what one holder takes of what a name has.
type Part struct{ Weight, Capacity int64 }

// Alone reports whether nobody else may be inside.
func (p Part) Alone() bool { return p.Weight == p.Capacity }
