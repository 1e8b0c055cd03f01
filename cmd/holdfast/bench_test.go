package main

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// Who interrupts a measurement finds nothing left, and the code of ctrl-C.
func TestBenchInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	cmd := command("bench", "-q", "--redis", server.URL(), "--duration", "5s", "--prefix", "{p}:")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	await(t, "a lock", func() bool { return strings.Contains(keys(t, server), "holdfast/fence::{p}:bench-") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got, want := cmd.ProcessState.ExitCode(), cli.ExitInterrupted; got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
	if got := keys(t, server); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
