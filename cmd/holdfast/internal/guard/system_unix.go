//go:build unix && !linux

package guard

import (
	"os"
	"syscall"
	"time"
)

// Now reads the wall clock: the monotonic one of Go can't be shared between
// processes.
func Now() Instant { return Instant(time.Now().UnixNano()) }

func selfPath() (string, error) { return os.Executable() }

// adoptOrphans: there is no such thing here, see killAll.
func adoptOrphans() bool { return false }

// commandAttributes: a group of its own. The kernel does not kill it with the
// guard; `holdfast run` does.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// killAll sends KILL to the group. What has left the group is out of reach.
func killAll(_, group int, _ bool) {
	if group > 0 {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// goneAll reports whether nothing is left of the group; what is left is killed.
func goneAll(group int) bool {
	return group <= 0 || syscall.Kill(-group, syscall.SIGKILL) != nil
}
