package scenario

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// critical is the section that a lock guards, in memory that all processes of a
// cell share. It finds two holders in two ways: whoever enters adds his weight,
// and all inside must not be more than the capacity (one, of one, where a holder
// is alone); and who may be alone only reads a counter at the entry and writes it,
// one higher, at the exit, so that two who were inside together lose one of the
// two. The atomic operations keep the detector's own memory right; they do not
// help the callers to exclude each other.
//
// The last to leave can also note who he is and when he began to release, on
// the one clock that all processes of the machine share: the next to enter
// knows from it how long the name was on its way.
type critical struct {
	inside *atomic.Int64
	count  *atomic.Int64
	left   *atomic.Int64 // when, by machineClock
	by     *atomic.Int64 // whom
}

// criticalSize is the file's length: numbers on cache lines of their own.
const criticalSize = 192

// newCritical makes the file.
func newCritical(path string) error { return os.WriteFile(path, make([]byte, criticalSize), 0o600) }

func openCritical(path string) (*critical, error) {
	memory, err := mapShared(path, criticalSize)
	if err != nil {
		return nil, fmt.Errorf("overlap detector: %w", err)
	}
	at := func(i int) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&memory[i])) }
	return &critical{inside: at(0), count: at(64), left: at(128), by: at(136)}, nil
}

// enter returns what leave needs, and how many overlaps it saw: none or one.
func (c *critical) enter(p contend.Part) (read, seen int64) {
	if c.inside.Add(p.Weight) > p.Capacity {
		seen = 1
	}
	return c.count.Load(), seen
}

func (c *critical) leave(p contend.Part, read int64) {
	if p.Alone() {
		c.count.Store(read + 1)
	}
	c.inside.Add(-p.Weight)
}

// lost is how many of the entries of those alone the counter does not know.
func (c *critical) lost(entered int64) int64 { return entered - c.count.Load() }

// releasing notes that me begins to release.
func (c *critical) releasing(me int64) {
	c.by.Store(me)
	c.left.Store(machineClock())
}

// handedOver is how long ago somebody else began to release, if me waited
// already by then.
func (c *critical) handedOver(me, asked int64) (time.Duration, bool) {
	now, left := machineClock(), c.left.Load()
	return time.Duration(now - left), left > asked && c.by.Load() != me
}
