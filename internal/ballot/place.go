package ballot

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Place is one place from which a Client locks a name. It has the keys of the name, and
// remembers how the tries went. A Client may have several for one name.
type Place struct {
	Name string
	TTL  time.Duration

	lock   [4]string // lock, fence, marker and wanted; most scripts take fewer
	unlock [2]string // lock and wanted

	splits int           // tries in a row whose votes were split: no id had a majority
	late   clock.Instant // when the newest try was won with too little of the ttl left; 0: none
}

// NewPlace returns a place for a name.
func NewPlace(name string, keys *keyspace.Keys, ttl time.Duration) *Place {
	lock, wanted := keys.Lock(), keys.Wanted()
	return &Place{
		Name: name, TTL: ttl,
		lock:   [4]string{lock, keys.Fence(), keyspace.Marker, wanted},
		unlock: [2]string{lock, wanted},
	}
}

// keys returns the keys of a script.
func (p *Place) keys(s *driver.Script) []string {
	switch s {
	case script.QuorumLock:
		return p.lock[:]
	case script.QuorumRaise:
		return p.lock[:2]
	case script.QuorumUnlock:
		return p.unlock[:]
	}
	return p.lock[:3]
}

// On a quorum no script hands a name over: a waiter polls. A Client that has released a name must
// not ask for it again before the waiters of other Clients have polled once. So a waiter that finds
// the name held marks it on the nodes as wanted, until its next poll. The unlock returns how long
// that mark still lasts, and sets the mark for this Client after it, because this Client may want
// the name again, too. A name without a mark costs its holder no pause. A mark is only a hint: if it
// is lost, late or set twice, one call waits less, or MaxComeBack more.

// The pause of a waiter between two polls.
const (
	shortestPause = 25 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// spread is a random pause after a mark has expired: other Clients may have waited for it, too.
const spread = 10 * time.Millisecond

// The round trip of a poll that a mark allows for. A poll may have to wait for the slowest node
// that is not silent.
const (
	unknownTrip = 50 * time.Millisecond
	longestTrip = (protocol.MaxComeBack - longestPause - shortestPause) / 2
)

// yields are the names that are left to waiters of other Clients. The zero value has none.
type yields struct {
	until     map[string]clock.Instant
	sweepFrom int // number of names from which on note drops those that are over
}

// note leaves a name to other Clients until then.
func (y *yields) note(name string, until, now clock.Instant) {
	if until <= y.until[name] {
		return
	}
	if y.until == nil {
		y.until = map[string]clock.Instant{}
	}
	if len(y.until) > y.sweepFrom {
		for name, until := range y.until {
			if until <= now {
				delete(y.until, name)
			}
		}
		y.sweepFrom = 2*len(y.until) + 64
	}
	y.until[name] = until
}
