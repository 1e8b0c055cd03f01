//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// Who looks at a name is told who runs what under it, and who waits; of a command what
// looks like a secret is hidden. With --no-details nothing is told.
func TestRunStoresDetails(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	holder := startRun(t, server.URL(), note("pid", "$$")+"PASSWORD=hunter2\n"+idle, "--owner", "first", "--note", "ticket 7")
	holder.pid("pid")
	waiter := startRun(t, server.URL(), "true", "--owner", "second", "--no-details")
	var text string
	until(t, "the details are shown", func() bool {
		var out bytes.Buffer
		runInProcess(t.Context(), &out, &out, "show", "job", "--redis", server.URL())
		text = out.String()
		return strings.Contains(text, "ticket 7") && strings.Contains(text, "second")
	})
	host, _ := os.Hostname()
	for _, want := range []string{host, "\ncommand       ", "\nwhy           held-healthy: held by first (", "PASSWORD=***", "  1  second  for "} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("shows what must not be:\n%s", text)
	}
	var out bytes.Buffer
	runInProcess(t.Context(), &out, &out, "show", "job", "--redis", server.URL(), "-o", "json")
	var state struct {
		Holder  struct{ Details map[string]any }
		Waiters []struct{ Details map[string]any }
	}
	if err := json.Unmarshal(out.Bytes(), &state); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if d := state.Holder.Details; d["note"] != "ticket 7" || d["host"] != host || d["pid"] != float64(holder.Process.Pid) {
		t.Errorf("got %v, want note, host and pid %d", d, holder.Process.Pid)
	}
	if len(state.Waiters) != 1 || state.Waiters[0].Details != nil {
		t.Errorf("got %v, want one waiter that tells nothing", state.Waiters)
	}
	third := startRun(t, server.URL(), "touch ran", "-n")
	third.wantExit(cli.ExitTempFail)
	third.wantSaid("holdfast: job is held by first (")
	holder.send(syscall.SIGTERM)
	holder.wantExit(128 + int(syscall.SIGTERM))
	waiter.wantExit(0)
}
