//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// The words about an outage come once each, and none about a short one.
func TestOutage(t *testing.T) {
	var said lockedBuffer
	o := &outage{say: func(format string, _ ...any) { _, _ = said.Write([]byte(format + "\n")) }}
	o.failed(syscall.ECONNREFUSED, 0)
	o.answered()
	o.answered()
	if got := said.String(); got != "" {
		t.Errorf("about a blip: said %q, want nothing", got)
	}
	o.failed(syscall.ECONNREFUSED, 10*time.Millisecond)
	until(t, "it is told", func() bool { return said.String() != "" })
	o.failed(syscall.ECONNREFUSED, 0)
	o.overdue(0)
	o.answered()
	o.answered()
	if got, want := strings.Count(said.String(), "\n"), 2; got != want {
		t.Errorf("said %q, want %d lines", &said, want)
	}
	o.failed(syscall.ECONNREFUSED, 0)
	o.end()
	o.speak() // as if the timer was on its way
	if got, want := strings.Count(said.String(), "\n"), 2; got != want {
		t.Errorf("after the end: said %q, want %d lines", &said, want)
	}
}
