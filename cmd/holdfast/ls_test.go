//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// lsOf runs `holdfast ls` here and returns its exit code, output and messages.
func lsOf(t *testing.T, server *realServer, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = runInProcess(t.Context(), &stdout, &stderr, append([]string{"ls", "--redis", server.url()}, args...)...)
	return code, stdout.String(), stderr.String()
}

// A name that a foreign client holds is listed everywhere while a process waits for it, though
// holdfast has never locked it.
func TestForeignNameWithWaiterIsListed(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, "SET", "holdfast:job", "x")
	startRun(t, server.url(), "true").says("waiting: ")

	if code, out, said := lsOf(t, server); code != 0 || !strings.Contains(out, "job   (not holdfast)") {
		t.Errorf("ls: exit code %d, got %q, %q, want job", code, out, said)
	}
	if code, out, said := lsOf(t, server, "--problems"); code != cli.ExitProblems || !strings.Contains(out, "no-ttl") || said != "holdfast: 1 of 1 name with a problem\n" {
		t.Errorf("ls --problems: exit code %d, got %q, %q, want 1 and job", code, out, said)
	}
	var top bytes.Buffer
	if code := runInProcess(t.Context(), &top, &top, "top", "--once", "--redis", server.url()); code != 0 || !strings.Contains(top.String(), "job") {
		t.Errorf("top: exit code %d, got %q, want job", code, &top)
	}
	serve := startServe(t, server.url())
	for path, want := range map[string]string{
		"/v1/locks?problems=true": `"name": "job"`,
		"/metrics":                `holdfast_inventory_diagnosed{code="no-ttl",problem="true"} 1`, // HoldfastNameStuck
		"/locks":                  "/lock?name=job",
	} {
		if page := serve.page(path); !strings.Contains(strings.ReplaceAll(page, `":"`, `": "`), want) {
			t.Errorf("%s lacks %s:\n%.2000s", path, want, page)
		}
	}
}

// A name is listed while it is held or waited for, also when its fence key has expired.
func TestNamesWithoutFenceKeyAreListed(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct{ first, second, list []string }{
		"mutex":     {},
		"semaphore": {first: []string{"--of=4", "--permits=3"}, second: []string{"--of=4", "--permits=2"}},
		"rwlock":    {first: []string{"-s"}, second: []string{"-x"}},
		"tagged":    {first: []string{"--prefix={app}:"}, second: []string{"--prefix={app}:"}, list: []string{"--prefix={app}:"}},
		"no prefix": {first: []string{"--prefix="}, second: []string{"--prefix="}, list: []string{"--prefix="}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			forget := func() {
				server.do(t, "DEL", "holdfast/fence:{holdfast:job}", "holdfast/fence::{app}:job", "holdfast/fence:{job}")
			}
			startRun(t, server.url(), note("pid", "$$")+idle, append(test.first, long)...).pid("pid")
			forget()
			list := append([]string{"-q", "-o", "name"}, test.list...)
			if code, out, said := lsOf(t, server, list...); (code != 0 || out != "job\n") && kind != "no prefix" { // every key could be a lock key
				t.Errorf("held: exit code %d, got %q, %q, want job", code, out, said)
			}
			startRun(t, server.url(), "true", append(test.second, long)...).says("waiting: ")
			forget()
			if code, out, said := lsOf(t, server, list...); code != 0 || out != "job\n" {
				t.Errorf("waited for: exit code %d, got %q, %q, want job", code, out, said)
			}
		})
	}
}

// A foreign value is listed for a PREFIX alone, and other types are not.
func TestForeignNamesAreListedByPrefix(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, "SET", "holdfast:other", "x", "PX", "600000")
	server.do(t, "RPUSH", "holdfast:outlist", "x")
	server.do(t, "HSET", "holdfast:outhash", "field", "x")
	server.do(t, "SET", "holdfast/queue:{holdfast:wrong}", "x")
	if code, out, said := lsOf(t, server, "-o", "name"); code != cli.ExitSoftware || out != "" || !strings.Contains(said, "1 name is left out: wrong: ") {
		t.Errorf("ls: exit code %d, got %q, %q, want nothing but the queue of another type", code, out, said)
	}
	code, out, said := lsOf(t, server, "o")
	if code != 0 || !strings.Contains(out, "other  (not holdfast)") || strings.Contains(out, "outlist") || strings.Contains(out, "outhash") {
		t.Errorf("ls o: exit code %d, got %q, %q, want other alone", code, out, said)
	}
	if _, out, _ := lsOf(t, server, "o", "-o", "json"); !strings.Contains(out, `"foreign": true`) {
		t.Errorf("ls o -o json: got %s, want that it is foreign", out)
	}
}

// A cron line mails nothing while there are no problems, and sees errors apart from problems.
func TestLsProblems(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	holder := startRun(t, server.url(), note("pid", "$$")+idle, long)
	holder.pid("pid")
	for _, args := range [][]string{{"--problems"}, {"--problems", "-o", "name"}} {
		if code, out, said := lsOf(t, server, args...); code != 0 || out+said != "" {
			t.Errorf("%v, none: exit code %d, got %q, %q, want 0 and nothing", args, code, out, said)
		}
	}
	if code, out, _ := lsOf(t, server, "--problems", "-o", "json"); code != 0 || out != "[]\n" {
		t.Errorf("none: exit code %d, got %q, want 0 and []", code, out)
	}
	holder.send(syscall.SIGSTOP) // it renews no more
	server.do(t, "PERSIST", "holdfast:job")
	if code, out, said := lsOf(t, server, "--problems", "-o", "name"); code != cli.ExitProblems || out != "job\n" || said != "" {
		t.Errorf("one: exit code %d, got %q, %q, want 1 and job", code, out, said)
	}
	if code, out, said := lsOf(t, server); code != 0 || !strings.Contains(out, "no-ttl") {
		t.Errorf("without --problems: exit code %d, got %q, %q, want 0", code, out, said)
	}
	server.do(t, "RPUSH", "holdfast/queue:{holdfast:wrong}", "x")
	if code, out, said := lsOf(t, server, "--problems"); code != cli.ExitSoftware || !strings.Contains(out, "job") || !strings.Contains(said, "1 name is left out") {
		t.Errorf("a name that cannot be read: exit code %d, got %q, %q, want 70 and job", code, out, said)
	}
	server.stop(t)
	if code, _, said := lsOf(t, server, "--problems"); code != cli.ExitUnreachable {
		t.Errorf("no server: exit code %d, %q, want 69", code, said)
	}
}

// ls --watch appends list after list where no terminal is. An outage does not end it, ctrl-C
// does, and is no failure.
func TestLsWatch(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, "SET", "holdfast:job", "x")
	watch := func(args ...string) (*runner, *lockedBuffer) {
		r, out := newRun(t, server.url(), ""), &lockedBuffer{}
		r.Args = append(r.Args[:1], append([]string{"ls", "--watch", "--redis", server.url()}, args...)...)
		r.Stdout = out
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		return r, out
	}
	texts, text := watch("j")
	namers, names := watch("j", "--problems", "-o", "name")
	liners, lines := watch("j", "-o", "json")
	count := func(out *lockedBuffer, word string) int { return strings.Count(out.String(), word) }
	until(t, "three lists", func() bool { return count(text, "(not holdfast)") >= 3 && count(lines, "\n") >= 3 })
	if got := names.String(); got != "job\n" {
		t.Errorf("names: got %q, want job once", got)
	}
	server.do(t, "DEL", "holdfast:job")
	seen := count(lines, "[]\n")
	until(t, "two empty lists", func() bool { return count(lines, "[]\n") >= seen+2 })
	server.do(t, "SET", "holdfast:job", "x")
	until(t, "the name again", func() bool { return names.String() == "job\njob\n" })
	server.freeze(t)
	texts.says("no answer from ")
	server.thaw(t)
	seen = count(text, "(not holdfast)")
	until(t, "a list after the outage", func() bool { return count(text, "(not holdfast)") > seen })
	for _, r := range []*runner{texts, namers, liners} {
		r.send(syscall.SIGINT)
		r.wantExit(0)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server.stop(t)
	if code := runInProcess(ctx, io.Discard, io.Discard, "ls", "--watch", "--redis", server.url()); code != cli.ExitUnreachable || ctx.Err() != nil {
		t.Errorf("no server at first: exit code %d, want 69", code)
	}
}
