package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Tests that are killed leave no process behind: no redis-server, no elect, though it is frozen,
// no guard of it, and no command.
func TestNothingOutlivesTheTests(t *testing.T) {
	const variable = "TEST_THAT_IS_KILLED"
	if os.Getenv(variable) != "" {
		redis := startRedis(t)
		r := startElect(t, redis.url(), note("pid", "$$")+note("guard", "$PPID")+idle)
		pids := []int{redis.cmd.Process.Pid, r.Process.Pid, r.pid("guard"), r.pid("pid")}
		r.send(syscall.SIGSTOP)
		fmt.Println("processes", pids)
		time.Sleep(2 * patience)
	}
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		var out lockedBuffer
		tests := exec.Command(self, "-test.run", "^"+t.Name()+"$")
		tests.Env = append(os.Environ(), variable+"=yes", "TMPDIR="+t.TempDir()) // they remove nothing
		tests.Stdout, tests.Stderr, tests.SysProcAttr = &out, &out, endsWithTests()
		if err := tests.Start(); err != nil {
			t.Fatal(err)
		}
		var pids []int
		until(t, "the tests have started processes", func() bool {
			var a, b, c, d int
			_, text, _ := strings.Cut(out.String(), "processes ")
			n, _ := fmt.Sscanf(text, "[%d %d %d %d]", &a, &b, &c, &d)
			pids = []int{a, b, c, d}
			return n == len(pids)
		})
		for _, pid := range pids {
			if isGone(pid) {
				t.Fatalf("process %d of %v is not there: %s", pid, pids, &out)
			}
		}
		t.Cleanup(func() {
			for _, pid := range pids {
				if !isGone(pid) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
		_ = tests.Process.Signal(signal)
		_ = tests.Wait()
		for i, pid := range pids {
			what := []string{"redis-server", "elect", "its guard", "its command"}[i]
			until(t, fmt.Sprintf("%v: %s is gone", signal, what), func() bool { return isGone(pid) })
		}
	}
}

// isGone takes a zombie for gone: its new parent may be slow to wait.
func isGone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
