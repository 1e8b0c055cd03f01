//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// acquireProcess is `holdfast acquire FLAGS job` as a process.
func acquireProcess(t *testing.T, serverURL string, flags ...string) *runner {
	t.Helper()
	r := &runner{t: t, dir: t.TempDir(), Cmd: command(append([]string{"acquire", "--redis", serverURL, "job"}, flags...)...)}
	r.Stderr = &r.stderr
	r.WaitDelay = time.Second
	t.Cleanup(r.end)
	return r
}

// Who ends an acquire that waits has nothing: no lease, and no place in line.
func TestAcquireInterrupted(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	client := holdfast.New(server, &holdfast.Options{Owner: "first"})
	t.Cleanup(func() { client.Close() })
	lease, err := client.Mutex("job").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var stdout lockedBuffer
	r := acquireProcess(t, server.URL(), "--ttl", "10m")
	r.Stdout = &stdout
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.says("waiting: 1st in the queue; job is held by first")
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	until(t, "the name is free and nobody waits", func() bool {
		state, err := admin.Of(client).Inspect(t.Context(), "job")
		return err == nil && state.Holder == nil && state.Waiting == 0
	})
	if got := stdout.String(); got != "" {
		t.Errorf("printed %q, want nothing", got)
	}
}

// A lease that nobody can read is not kept: the name is free at once, and not when
// its ttl is over.
func TestAcquireForNobody(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	r := acquireProcess(t, server.URL(), "--ttl", "10m")
	r.Stdout = writer
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	r.wantExit(cli.ExitSoftware)
	client := holdfast.New(server, nil)
	t.Cleanup(func() { client.Close() })
	if state, err := admin.Of(client).Inspect(t.Context(), "job"); err != nil || state.Holder != nil {
		t.Errorf("got %+v, %v, want that the name is free", state, err)
	}
}

// A real server, with the least rights: taken by one process, renewed, checked and
// released by others, which hands the name to who waits; and top and the completion of
// names need no more.
func TestLeaseRights(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, aclLine(t, "app")...)
	server.do(t, append([]string{"ACL", "SETUSER", "app"}, journalRights(t)...)...)
	server.do(t, "ACL", "LOG", "RESET")
	url := server.urlFor("app")
	var out bytes.Buffer
	if got := runInProcess(t.Context(), &out, &out, "acquire", "--ttl", "1m", "--owner", "first", "--redis", url, "job"); got != 0 {
		t.Fatalf("exit code %d, want 0: %s", got, &out)
	}
	lease := strings.TrimSpace(out.String())
	waiter := startRun(t, url, "true", "-v", "--no-journal", "--owner", "second")
	waiter.says("queued: job is held by first; 1st in the queue")
	wantShown(t, 0, "; 1 waiter in the queue", "check", lease, "--redis", url)
	wantShown(t, 0, "job is held for ", "renew", lease, "--redis", url)
	wantShown(t, 0, "first", "top", "--once", "--redis", url)
	wantShown(t, 0, "job\n", "__complete", "show", "--redis", url, "")
	wantShown(t, 0, "", "release", lease, "--redis", url)
	waiter.wantExit(0)
	wantShown(t, cli.ExitLost, "the lease of job has ended", "release", lease, "--redis", url)
	if got := server.do(t, "ACL", "LOG"); got != "*0\r\n" {
		t.Errorf("the server refused: %s", got)
	}
}

// While Redis is frozen a lease is not called lost, nobody knows; and a shell that
// completes is not kept waiting, nor told.
func TestLeaseServerFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startRedis(t)
	var out, said bytes.Buffer
	if got := runInProcess(t.Context(), &out, &said, "acquire", "--ttl", "10m", "--redis", server.url(), "job"); got != 0 {
		t.Fatalf("exit code %d, want 0: %s", got, &said)
	}
	lease := strings.TrimSpace(out.String())
	server.freeze(t)
	for _, word := range []string{"check", "renew", "release"} {
		wantShown(t, cli.ExitUnreachable, "no answer from "+server.url(), word, lease, "--redis", server.url())
	}
	began := time.Now()
	text := wantShown(t, 0, "", "__complete", "show", "--redis", server.url(), "")
	if took := time.Since(began); took > patience/2 || strings.Contains(text, "no answer") {
		t.Errorf("to complete took %v and said %q, want it soon and without a word", took, text)
	}
	server.thaw(t)
	wantShown(t, 0, "", "release", lease, "--redis", server.url())
}
