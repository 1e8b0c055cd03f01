package clienttest

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// MoveSlot moves the slot of a name from the master that has it to the next,
// key by key or all keys at once, and pauses on the way. It returns how many
// keys went.
func (c Cluster) MoveSlot(t testing.TB, name string, single bool, pause time.Duration) (moved int) {
	t.Helper()
	m := c.StartMove(t, name)
	for {
		keys := m.Keys(t)
		if len(keys) == 0 {
			break
		}
		if single {
			keys = keys[:1]
		}
		m.Migrate(t, keys)
		moved += len(keys)
		time.Sleep(pause)
	}
	m.Finish(t)
	return moved
}

// BeginMove moves all keys of a slot, and not yet the slot itself, which what it
// returns does.
func (c Cluster) BeginMove(t testing.TB, name string) (finish func()) {
	t.Helper()
	m := c.StartMove(t, name)
	m.Migrate(t, m.Keys(t))
	return func() { m.Finish(t) }
}

// Move is a slot on its way.
type Move struct {
	slot                   string
	Source, Target, beside *redistest.Server
}

// StartMove begins to move the slot of a name to the next master.
func (c Cluster) StartMove(t testing.TB, name string) Move {
	t.Helper()
	from := c.Of(t, name)
	m := Move{Source: c[from], Target: c[(from+1)%len(c)], beside: c[(from+2)%len(c)]}
	m.slot = m.Source.MustDo(t, "CLUSTER", "KEYSLOT", LockKey(name))
	m.Target.MustDo(t, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.Source.MustDo(t, "CLUSTER", "MYID"))
	m.Source.MustDo(t, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.Target.MustDo(t, "CLUSTER", "MYID"))
	return m
}

// Keys are the next hundred keys of the slot at its source.
func (m Move) Keys(t testing.TB) []string {
	t.Helper()
	return strings.Fields(m.Source.MustDo(t, "CLUSTER", "GETKEYSINSLOT", m.slot, 100))
}

// Migrate moves these keys.
func (m Move) Migrate(t testing.TB, keys []string) {
	t.Helper()
	host, port, _ := strings.Cut(m.Target.Addr(), ":")
	args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	m.Source.MustDo(t, args...)
}

// Finish gives the slot to its target.
func (m Move) Finish(t testing.TB) {
	t.Helper()
	id := m.Target.MustDo(t, "CLUSTER", "MYID")
	for _, node := range []*redistest.Server{m.Target, m.Source, m.beside} {
		node.MustDo(t, "CLUSTER", "SETSLOT", m.slot, "NODE", id)
	}
}
