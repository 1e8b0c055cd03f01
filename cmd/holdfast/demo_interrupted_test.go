package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/embedded"
)

// A demo that is interrupted ends at once, says so by its code, and leaves
// nothing on somebody's server.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	cmd := command("demo", "-q", "--redis", server.URL())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "a sale", func() bool { return strings.Contains(keys(t, server), "stock") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != cli.ExitInterrupted {
		t.Errorf("ended with %v, want exit code %d", err, cli.ExitInterrupted)
	}
	if got := keys(t, server); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// keys are all keys of the server, as one text.
func keys(t *testing.T, server *embedded.Store) string {
	var all []string
	for key, err := range server.Scan(context.Background(), "*") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return strings.Join(all, " ")
}

// await polls until done, which it is soon.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}
