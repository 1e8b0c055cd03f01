package bench

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"
)

// critical is the section that a lock guards, in memory that all processes of a
// cell share. It finds two holders in two ways: whoever enters counts himself
// in and must be alone; and a counter is read at the entry and written, one
// higher, at the exit, so that two who were inside together lose one of the
// two. The atomic operations keep the detector's own memory right; they do not
// help the callers to exclude each other.
type critical struct {
	inside *atomic.Int64
	count  *atomic.Int64
}

// criticalSize is the file's length: two numbers on cache lines of their own.
const criticalSize = 128

// newCritical makes the file.
func newCritical(path string) error { return os.WriteFile(path, make([]byte, criticalSize), 0o600) }

func openCritical(path string) (*critical, error) {
	memory, err := mapShared(path, criticalSize)
	if err != nil {
		return nil, fmt.Errorf("overlap detector: %w", err)
	}
	return &critical{
		inside: (*atomic.Int64)(unsafe.Pointer(&memory[0])),
		count:  (*atomic.Int64)(unsafe.Pointer(&memory[criticalSize/2])),
	}, nil
}

// enter returns what leave needs, and how many overlaps it saw: none or one.
func (c *critical) enter() (read, seen int64) {
	if c.inside.Add(1) != 1 {
		seen = 1
	}
	return c.count.Load(), seen
}

func (c *critical) leave(read int64) {
	c.count.Store(read + 1)
	c.inside.Add(-1)
}

// lost is how many of the entries the counter does not know.
func (c *critical) lost(entered int64) int64 { return entered - c.count.Load() }
