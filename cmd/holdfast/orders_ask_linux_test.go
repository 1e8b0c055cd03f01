package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// atTerminal starts the program with a terminal of its own.
func atTerminal(t *testing.T, args ...string) (cmd *exec.Cmd, keys *os.File, shown *lockedBuffer) {
	t.Helper()
	terminal, keys, shown := openTerminal(t, 100)
	cmd = command(args...)
	cmd.Env = append(os.Environ(), "TERM=dumb", "LANG=C.UTF-8")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	terminal.Close()
	return cmd, keys, shown
}

// At a terminal revoke and steal show who holds a name, and ask which holder is meant and
// why. That one ends, with the reason, and the others go on.
func TestOrdersAsk(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	lock := map[string]*holdfast.Lease{}
	var order []string
	for i, owner := range []string{"web-1", "web-2", "web-3"} {
		client := holdfast.New(server, &holdfast.Options{Owner: owner, TTL: time.Duration(i+1) * time.Hour}) // listed by their ends
		t.Cleanup(func() { client.Close() })
		lease, err := client.RWMutex("index").RLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lock[owner], order = lease, append(order, owner)
	}
	for _, c := range []struct {
		command, number, cause string
		meant                  string
	}{
		{"revoke", "2", "revoked", "web-2"},
		{"steal", "1", "stolen", "web-1"},
	} {
		cmd, keys, shown := atTerminal(t, c.command, "index", "--redis", server.URL(), "--owner", "op")
		until(t, "the holders are shown", func() bool { return strings.Contains(shown.String(), "number of the holder") })
		if text := shown.String(); !strings.Contains(text, "  1  web-1  a reader  ") && c.command == "revoke" {
			t.Errorf("shown: %s", text)
		}
		fmt.Fprint(keys, c.number+"\n")
		until(t, "the reason is asked for", func() bool { return strings.Contains(shown.String(), "reason (") })
		fmt.Fprint(keys, "it hangs\n")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", c.command, err, shown)
		}
		<-lock[c.meant].Done()
		if got, want := lock[c.meant].Err().Error(), c.cause+": it hangs (by op)"; !strings.HasSuffix(got, want) {
			t.Errorf("%s ended with %q, want %q", c.meant, got, want)
		}
		_ = lock[c.meant].Release()
		delete(lock, c.meant)
	}
	for _, no := range []string{"\n", "7\n", "x\n", "\x04"} {
		cmd, keys, shown := atTerminal(t, "steal", "index", "--redis", server.URL(), "--reason", "why not")
		until(t, "the holders are shown", func() bool { return strings.Contains(shown.String(), "number of the holder") })
		fmt.Fprint(keys, no)
		_ = cmd.Wait()
		until(t, "it is said that nothing was changed", func() bool { return strings.Contains(shown.String(), "nothing was changed") })
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitTempFail {
			t.Errorf("answered %q: exit code %d, said %s", no, code, shown)
		}
	}
	for _, owner := range order {
		if lease := lock[owner]; lease != nil && lease.Err() != nil {
			t.Errorf("%s: %v", owner, lease.Err())
		}
	}
}
