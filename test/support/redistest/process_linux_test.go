package redistest_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestStopsWithTheTest(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	var s *redistest.Server
	var pid int
	t.Run("inner", func(t *testing.T) {
		s = redistest.Start(t, redistest.Options{})
		pid = s.Pid()
		if err := s.Freeze(); err != nil { // a frozen one must go, too
			t.Fatal(err)
		}
	})
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after the test: got %v, want %v", pid, err, syscall.ESRCH)
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("the directory is left behind: %v", err)
	}
}

// TestDiesWithItsParent runs this test again in a process of its own, which starts a server
// and freezes it, and is killed.
func TestDiesWithItsParent(t *testing.T) {
	const dirVar = "REDISTEST_ORPHAN_DIR"
	if dir := os.Getenv(dirVar); dir != "" {
		s, err := redistest.Run(dir, redistest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Freeze(); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pid=%d\n", s.Pid())
		time.Sleep(time.Minute)
	}
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), dirVar+"="+t.TempDir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Launch(cmd, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid=")))
		if err != nil || gone(pid) {
			t.Fatalf("no pid of a server in %q", line)
		}
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		for end := time.Now().Add(long); !gone(pid); {
			if time.Now().After(end) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Fatalf("%v: the server, process %d, outlived its parent", signal, pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// gone takes a zombie for gone: whoever inherited it may be slow to wait.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return errors.Is(err, os.ErrNotExist) || strings.Contains(string(stat), ") Z ")
}
