//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"testing"
)

// show says of each holder of a semaphore how long it has held, and what it runs; and of each
// waiter what it runs.
func TestShowWork(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for _, owner := range []string{"first", "second"} {
		startRun(t, server.URL(), note("pid", "$$")+idle, "--of", "2", "--owner", owner, "--note", "holds for "+owner).pid("pid")
	}
	startRun(t, server.URL(), "true", "--of", "2", "--owner", "third", "--note", "ticket 9")
	want := []*regexp.Regexp{
		regexp.MustCompile(`(?m)^       first \(.*\)  1 permit  held for \S+  \S+ of 15s left  hash [0-9a-f]{10}\n       command  .*\n       note     holds for first$`),
		regexp.MustCompile(`(?m)^       second \(.*\)  1 permit  held for `),
		regexp.MustCompile(`(?m)^    1  third \(.*\)  for .*, wants 1 permit\n       command  .*\n       note     ticket 9$`),
	}
	var text string
	until(t, "the work is shown", func() bool {
		var out bytes.Buffer
		runInProcess(t.Context(), &out, &out, "show", "job", "--redis", server.URL())
		text = out.String()
		for _, w := range want {
			if !w.MatchString(text) {
				return false
			}
		}
		return true
	})
	var out bytes.Buffer
	runInProcess(t.Context(), &out, io.Discard, "show", "job", "--redis", server.URL(), "-o", "json")
	var state struct {
		Holders []struct {
			Held *int64 `json:"held_ms"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &state); err != nil || len(state.Holders) != 2 || state.Holders[0].Held == nil || state.Holders[1].Held == nil {
		t.Errorf("%v: got %s, want held_ms of both", err, &out)
	}
}
