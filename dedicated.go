package holdfast

import (
	"fmt"
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

// dedicatedTenure is how one acquisition by this Mutex differs from those of its Client; nil: not.
func (m *Mutex) dedicatedTenure() *dedicated {
	if m.Owner == "" && m.TTL == 0 && !m.NoRenew {
		return nil
	}
	a := &dedicated{number: dedicatedCount.Add(1), owner: m.client.options.Owner, ttl: m.client.options.TTL, noRenew: m.NoRenew}
	if m.Owner != "" {
		a.owner = keyspace.CleanOwner(m.Owner)
	}
	if m.TTL != 0 {
		a.ttl = m.TTL
	}
	return a
}

// checkDedicated panics where TTL is a mistake of the program.
func (m *Mutex) checkDedicated() error {
	if m.TTL != 0 && (m.TTL < MinTTL || m.TTL > MaxTTL || m.TTL%time.Millisecond != 0) {
		panic(fmt.Sprintf("holdfast: Mutex.TTL is %v: it must be whole milliseconds from %v to %v", m.TTL, MinTTL, MaxTTL))
	}
	if m.client.quorum != nil && m.TTL > MaxQuorumTTL {
		return notOnQuorum(m.name, fmt.Sprintf("a Mutex.TTL of more than %v", MaxQuorumTTL))
	}
	return nil
}

// key is its key in core.names. No name has a control character.
func (a *dedicated) key(name string) string {
	return name + "\x00apart" + strconv.FormatInt(a.number, 36)
}

// ttl is how long the lock key lives after each grant and renewal.
func (n *localName) ttl() time.Duration {
	if n.dedicated != nil {
		return n.dedicated.ttl
	}
	return n.c.options.TTL
}

// owner is the label of its tenures.
func (n *localName) owner() string {
	if n.dedicated != nil {
		return n.dedicated.owner
	}
	return n.c.options.Owner
}

// tail is what its ids end with.
func (n *localName) tail() string {
	switch {
	case n.shared != nil:
		return n.shared.tail
	case n.dedicated != nil:
		return keyspace.Tail(n.dedicated.ttl, n.dedicated.owner)
	}
	return n.candidate.tail(n.c)
}
