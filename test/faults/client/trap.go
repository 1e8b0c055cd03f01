//go:build linux

package client

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

// trap stops or kills this very process at a step, once.
type trap struct {
	notes *history.Writer
	armed atomic.Pointer[Order]
	mu    sync.Mutex // held while it springs
}

// disarm returns when it will not spring any more, or has.
func (t *trap) disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed.Store(nil)
}

// at springs the trap if it is set for the step.
func (t *trap) at(step Step) {
	o := t.armed.Load()
	if o == nil || o.Step != step {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.armed.CompareAndSwap(o, nil) {
		return
	}
	t.notes.Note(history.Event{What: history.Step, Detail: string(step)})
	fmt.Println(Reached) // one write
	signal := unix.SIGSTOP
	if o.Kill {
		signal = unix.SIGKILL
	}
	// To this very thread: it does not return from here before the signal counts.
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), signal)
}

// sent springs it behind the write of a request.
func (t *trap) sent(written []byte) {
	o := t.armed.Load()
	if o == nil {
		return
	}
	for _, sha := range requests[o.Step] {
		if bytes.Contains(written, []byte(sha)) {
			t.at(o.Step)
			return
		}
	}
}

// requests are the scripts, by SHA, behind whose send a step lies.
var requests = map[Step][]string{
	AfterSend: locks,
	InRenewal: {script.Renew.SHA, script.SharedRenew.SHA, script.QuorumRenew.SHA},
	InRelease: {script.Unlock.SHA, script.SharedUnlock.SHA, script.QuorumUnlock.SHA},
}

var locks = []string{script.Lock.SHA, script.SharedLock.SHA, script.QuorumLock.SHA}

// asks reports whether a script is one that asks for a name.
func asks(sha string) bool { return slices.Contains(locks, sha) }

// trapped is a connection whose writes may spring the trap.
type trapped struct {
	net.Conn
	trap *trap
}

func (c *trapped) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.trap.sent(b)
	return n, err
}
