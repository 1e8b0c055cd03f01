package guard

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Now reads the clock that runs while the machine is suspended and that cannot be set.
// The library uses the same one for leases.
func Now() Instant {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic("holdfast: no CLOCK_BOOTTIME: " + err.Error())
	}
	return Instant(now.Nano())
}

// selfPath is this program, even if its file was replaced since it started.
func selfPath() (string, error) { return "/proc/self/exe", nil }

// adoptOrphans makes this process the parent of every descendant whose own
// parent dies, so that none gets away by setsid and a double fork. It reports
// whether that worked.
func adoptOrphans() bool {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// commandAttributes: a group of its own, and death with the guard.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killAll sends KILL to the group, unless its leader has ended and another process may
// have its number, and to all descendants of root. One call is not enough: a process may
// start while the others are counted.
func killAll(root, group int, over bool) {
	if group > 0 && !over {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	for _, pid := range descendants(root) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// goneAll reports whether nothing is left of the group, given that its guard has
// no child any more: orphans would be children.
func goneAll(int) bool { return true }

// descendants finds the processes below root, in any order.
func descendants(root int) []int {
	children := map[int][]int{}
	for _, pid := range processes() {
		if parent := parentOf(pid); parent > 0 {
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf reads "pid (name) state parent …", where name may hold anything.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
