package holdfast

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// separate is one acquisition by a Mutex that has an owner or a ttl of its own. It is
// a line of its own, as a candidate is: an id bears one owner and one ttl, and the
// turns of a line share an id.
type separate struct {
	number int64
	owner  string
	ttl    time.Duration
	fixed  bool // Mutex.NoRenew
}

// aparts counts them.
var aparts atomic.Int64

// apartness is how one acquisition by this Mutex differs from those of its Client; nil: not.
func (m *Mutex) apartness() *separate {
	if m.Owner == "" && m.TTL == 0 && !m.NoRenew {
		return nil
	}
	a := &separate{number: aparts.Add(1), owner: m.client.options.Owner, ttl: m.client.options.TTL, fixed: m.NoRenew}
	if m.Owner != "" {
		a.owner = keyspace.CleanOwner(m.Owner)
	}
	if m.TTL != 0 {
		a.ttl = m.TTL
	}
	return a
}

// checkApart panics where TTL is a mistake of the program.
func (m *Mutex) checkApart() error {
	if m.TTL != 0 && (m.TTL < MinTTL || m.TTL > MaxTTL || m.TTL%time.Millisecond != 0) {
		panic(fmt.Sprintf("holdfast: Mutex.TTL is %v: it must be whole milliseconds from %v to %v", m.TTL, MinTTL, MaxTTL))
	}
	if m.client.quorum != nil && m.TTL > MaxQuorumTTL {
		return notOnQuorum(m.name, fmt.Sprintf("a Mutex.TTL of more than %v", MaxQuorumTTL))
	}
	return nil
}

// key is by what core.lines knows its line. No name has a control character.
func (a *separate) key(name string) string {
	return name + "\x00apart" + strconv.FormatInt(a.number, 36)
}

// ttl is how long L lives after each grant and renewal of this line.
func (l *line) ttl() time.Duration {
	if l.apart != nil {
		return l.apart.ttl
	}
	return l.c.options.TTL
}

// owner is the label of its tenures.
func (l *line) owner() string {
	if l.apart != nil {
		return l.apart.owner
	}
	return l.c.options.Owner
}

// tail is what its ids end with.
func (l *line) tail() string {
	switch {
	case l.shared != nil:
		return l.shared.tail
	case l.apart != nil:
		return keyspace.Tail(l.apart.ttl, l.apart.owner)
	}
	return l.candidate.tail(l.c)
}
