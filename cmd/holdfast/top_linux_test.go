package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// On a terminal top draws, looks at a name by enter, revokes its lease by ctrl-d after a reason
// and y, and gives the screen back by q.
// What a name or label has in it never reaches the terminal.
func TestTopOnTerminal(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	client := holdfast.New(server, &holdfast.Options{Owner: "web-1:7", TTL: time.Minute})
	t.Cleanup(func() { client.Close() })
	lease, err := client.Mutex("invoice:42").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Do("SET", "holdfast:hostile", "\x1b]0;owned\a\x1b[2J", "PX", "600000"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Do("SET", "holdfast/fence:{holdfast:hostile}", "1"); err != nil {
		t.Fatal(err)
	}
	terminal, keyboard, shown := openTerminal(t, 100)
	cmd := command("top", "--redis", server.URL(), "--interval", "500ms")
	cmd.Env = append(os.Environ(), "TERM=xterm", "LANG=C.UTF-8")
	cmd.Stdin, cmd.Stdout = terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	terminal.Close()
	until(t, "the table is drawn", func() bool {
		return strings.Contains(shown.String(), "invoice:42") && strings.Contains(shown.String(), "hostile")
	})
	fmt.Fprint(keyboard, "/voice\r\r")
	until(t, "the name is shown", func() bool { return strings.Contains(shown.String(), "tokens up to") })
	fmt.Fprint(keyboard, "\x04") // ctrl-d
	until(t, "the reason is asked for", func() bool { return strings.Contains(shown.String(), "reason (the holder reads it): ") })
	fmt.Fprint(keyboard, "db-3 q\r")
	until(t, "it is asked whether to", func() bool { return strings.Contains(shown.String(), "ask this holder to stop? y/n") })
	if err := lease.Err(); err != nil {
		t.Fatalf("before the answer the lease ended: %v", err)
	}
	fmt.Fprint(keyboard, "y")
	<-lease.Done()
	if reason, revoked := lease.Revoked(); !revoked || !strings.HasPrefix(reason, "db-3 q (by ") {
		t.Errorf("the lease ended with %v", lease.Err())
	}
	until(t, "the answer is shown", func() bool {
		return strings.Contains(shown.String(), "asked the holder") || strings.Contains(shown.String(), "could not be notified")
	})
	fmt.Fprint(keyboard, "q")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v, want no error", err)
		}
	case <-ctx.Done():
		t.Fatal("q does not end it")
	}
	const alternate = "\x1b[?1049"
	until(t, "the screen is given back", func() bool {
		return strings.LastIndex(shown.String(), alternate+"l") > strings.LastIndex(shown.String(), alternate+"h")
	})
	if got := shown.String(); strings.Contains(got, "owned\a") {
		t.Errorf("a value got through to the terminal: %q", got)
	}
}
