package callers

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"
)

// section is the critical section that a lock protects, in memory that all processes of a run
// share. It finds too many holders in two ways. No more may be inside than the capacity. And a holder
// reads a counter when it enters, and writes it, one higher, when it leaves: two who were inside
// together lose one of the two. The second way works only where a holder must be alone. The atomic operations keep the
// detector's own memory right; they do not help the callers to exclude each other.
//
// The last to leave also notes who it is and when it began to release, so that the next to
// enter knows how long the name was on its way.
type section struct{ inside, count, left, by *atomic.Int64 }

// sectionSize is the file's length: numbers on cache lines of their own.
const sectionSize = 192

func newSection(path string) error { return os.WriteFile(path, make([]byte, sectionSize), 0o600) }

func openSection(path string) (*section, error) {
	memory, err := mapShared(path, sectionSize)
	if err != nil {
		return nil, fmt.Errorf("overlap detector: %w", err)
	}
	at := func(i int) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&memory[i])) }
	return &section{inside: at(0), count: at(64), left: at(128), by: at(136)}, nil
}

// enter returns what leave needs, and how many overlaps it saw: none or one.
func (s *section) enter(capacity int64) (read, seen int64) {
	if s.inside.Add(1) > capacity {
		seen = 1
	}
	return s.count.Load(), seen
}

func (s *section) leave(read int64) {
	s.count.Store(read + 1)
	s.inside.Add(-1)
}

func (s *section) releasing(me int64) {
	s.by.Store(me)
	s.left.Store(time.Now().UnixNano())
}

// handedOver is how long ago another caller began to release, if me waited already by then.
func (s *section) handedOver(me, asked int64) (time.Duration, bool) {
	now, left := time.Now().UnixNano(), s.left.Load()
	return time.Duration(now - left), left > asked && s.by.Load() != me
}
