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

	splits int           // tries in a row in which nobody was seen to hold a majority
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

// keys are those that a script takes.
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

// On a quorum nobody hands a name over: a waiter polls. So a Client that has released a name
// has to leave it alone until the waiters of other Clients have polled once, or it would take
// it again before them. A waiter that finds the name held marks it as wanted for as long as it
// takes to come back. The release reads how long that still is, and puts a mark behind that
// one, because this Client comes back, too. A name that nobody wants costs its holder no pause. A
// mark is a hint: if it is lost, late or doubled, a caller waits less, or MaxComeBack more,
// once.

// The pause of a waiter between two polls.
const (
	shortestPause = 25 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// spread is a random pause behind a mark: others, too, may have paused for it.
const spread = 10 * time.Millisecond

// A poll's round trip, as far as marks count on it. The answers of the slowest node that is not
// silent may have to be waited for.
const (
	unknownTrip = 50 * time.Millisecond
	longestTrip = (protocol.MaxComeBack - longestPause - shortestPause) / 2
)

// yields are the names that are left to waiters of other Clients. The zero value has none.
type yields struct {
	until     map[string]clock.Instant
	sweepFrom int // how many names make it drop those that are over
}

// note leaves a name alone until then.
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
