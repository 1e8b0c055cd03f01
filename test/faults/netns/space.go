//go:build linux

package netns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// space is a network namespace. It lasts while its file is open, or a process is
// in it. The nil one is that of this process.
type space struct{ file *os.File }

// newSpace makes a namespace in which there is loopback only.
func newSpace() (*space, error) {
	s := &space{}
	err := aside(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		s.file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.ip("link set lo up"); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *space) close() { _ = s.file.Close() } // what holds it otherwise ends by itself

// path is that of the namespace, for who may look into this process.
func (s *space) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.file.Fd()) }

// aside runs f on a thread that ends with it: what namespace it enters is no
// matter for anybody else.
func aside(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good
		done <- f()
	}()
	return <-done
}

// do runs f in the namespace, on one thread. What f starts is in it, too.
func (s *space) do(f func() error) error {
	if s == nil {
		return f()
	}
	return aside(func() error {
		if err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return f()
	})
}

// ip runs lines of the command ip, until one fails.
func (s *space) ip(lines ...string) error { return s.batch("ip", lines) }

// tc runs lines of the command tc, until one fails.
func (s *space) tc(lines ...string) error { return s.batch("tc", lines) }

func (s *space) batch(command string, lines []string) error {
	return s.do(func() error {
		cmd := exec.Command(command, "-batch", "-")
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s (%s)", command, err, strings.Join(strings.Fields(string(out)), " "), strings.Join(lines, "; "))
		}
		return nil
	})
}
