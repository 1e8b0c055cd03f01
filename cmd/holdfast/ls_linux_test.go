package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast"
)

// On a terminal ls --watch draws each list over the one before, and keeps to its width.
func TestLsWatchOnTerminal(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	client := holdfast.New(server, &holdfast.Options{Owner: "web-1:7"})
	t.Cleanup(func() { client.Close() })
	if _, err := client.Mutex("invoice:42").Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	terminal, _, shown := openTerminal(t, 40)
	cmd := command("ls", "--watch", "--redis", server.URL())
	cmd.Env = append(os.Environ(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout = terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	terminal.Close()
	until(t, "the list is drawn twice", func() bool { return strings.Count(shown.String(), "invoice:42") >= 2 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v, want no error", err)
	}
	if got := shown.String(); strings.Count(got, "\x1b[H") != strings.Count(got, "invoice:42") || strings.Contains(got, "TOKENS UP TO") {
		t.Errorf("got %q, want each list from the top, cut to 40 columns", got)
	}
}
