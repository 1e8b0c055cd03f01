//go:build linux

// Package wallclock moves the wall clock of a redis-server that runs: a small
// library, compiled by gcc and loaded before the server's own, adds to the time an
// offset that stands in a file. TIME, expiry and all that Redis reckons by the
// time of day follow; clocks that nobody can set stay as they are.
package wallclock

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

//go:embed preload/wallclock.c
var source []byte

// Library compiles the library into a directory and returns where it is.
func Library(dir string) (string, error) {
	c, library := filepath.Join(dir, "wallclock.c"), filepath.Join(dir, "wallclock.so")
	if err := os.WriteFile(c, source, 0o600); err != nil {
		return "", err
	}
	text, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, c).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("wallclock: gcc (Debian: apt-get install gcc libc6-dev): %w\n%s", err, text)
	}
	return library, nil
}

// Clock is the wall clock of one server, or of some that are to agree. It goes
// right until it is moved.
type Clock struct {
	library string
	file    *os.File

	mu     sync.Mutex // protects the rest
	offset time.Duration
	err    error
}

// Start makes a clock for the length of a test.
func Start(t testing.TB) *Clock {
	t.Helper()
	dir := t.TempDir()
	library, err := Library(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "offset"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Clock{library: library, file: file}
	c.Set(0)
	t.Cleanup(func() {
		if err := c.Err(); err != nil {
			t.Error(err)
		}
		_ = c.file.Close()
	})
	return c
}

// Env is what a server whose clock this is has in its environment.
func (c *Clock) Env() []string {
	return []string{"LD_PRELOAD=" + c.library, "HOLDFAST_TEST_CLOCK=" + c.file.Name()}
}

// Step moves the clock.
func (c *Clock) Step(by time.Duration) { c.move(func() time.Duration { return c.offset + by }) }

// Set lets the clock be ahead of the true time, or behind it.
func (c *Clock) Set(offset time.Duration) { c.move(func() time.Duration { return offset }) }

func (c *Clock) move(to func() time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = to()
	// One write of eight bytes in one page: nobody reads half of it.
	if _, err := c.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(c.offset)), 0); err != nil && c.err == nil {
		c.err = err
	}
}

// Err is what went wrong with moving it.
func (c *Clock) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Drift lets the clock go fast by so many parts in a million, or slow, in steps of
// a millisecond, until stop.
func (c *Clock) Drift(ppm int64) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now := time.Now()
			c.Step(now.Sub(last) * time.Duration(ppm) / 1_000_000)
			last = now
		}
	})
	return func() { close(done); running.Wait() }
}
