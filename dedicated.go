package holdfast

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// dedicated is one acquisition by a Mutex that has an owner or a ttl of its own. It is
// a local name of its own, as a candidate is: an id has one owner and one ttl, and the
// turns of a local name share an id.
type dedicated struct {
	number  int64
	owner   string
	ttl     time.Duration
	noRenew bool // Mutex.NoRenew
}

// dedicatedCount counts them.
var dedicatedCount atomic.Int64

// key is its key in process.names. No name has a control character.
func (a *dedicated) key(name string) string {
	return name + "\x00apart" + strconv.FormatInt(a.number, 36)
}

// ttl is how long the lock key lives after each grant and renewal.
func (n *localName) ttl() time.Duration {
	if n.dedicated != nil {
		return n.dedicated.ttl
	}
	return n.p.ttl
}

// owner is the label of its tenures.
func (n *localName) owner() string {
	if n.dedicated != nil {
		return n.dedicated.owner
	}
	return n.p.owner
}

// tail is what its ids end with.
func (n *localName) tail() string {
	switch {
	case n.shared != nil:
		return n.shared.tail
	case n.dedicated != nil:
		return keyspace.Tail(n.dedicated.ttl, n.dedicated.owner)
	}
	return n.candidate.tail(n.p)
}
