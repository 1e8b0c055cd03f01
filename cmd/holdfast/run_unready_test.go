//go:build unix

package main

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// takers are the commands that take a lock, each with a name of its own.
var takers = map[string][]string{
	"run":     {"run", "run", "--", "true"},
	"try":     {"run", "-n", "try", "--", "true"},
	"wait":    {"run", "-w", "25s", "--ttl", "1s", "wait", "--", "true"},
	"every":   {"run", "--every", "1h", "every", "--", "true"},
	"shared":  {"run", "--shared", "shared", "--", "true"},
	"elect":   {"elect", "--once", "elect", "--", "true"},
	"acquire": {"acquire", "acquire"},
}

// On a replica a command says at once what is wrong and where the master is, and goes on
// trying: a failover passes.
func TestTakeOnReplica(t *testing.T) {
	t.Parallel()
	master, replica := startRedis(t), startRedis(t)
	host, port, _ := net.SplitHostPort(master.addr)
	replica.do(t, "REPLICAOF", host, port)
	until(t, "the replica follows", func() bool { return strings.Contains(replica.do(t, "INFO", "replication"), "master_link_status:up") })
	wantShown(t, 2, "its master, "+master.addr, "doctor", "--redis", replica.url())
	var all []*runner
	for _, args := range takers {
		all = append(all, start(t, replica.url(), nil, args...))
	}
	for _, r := range all {
		r.says("Redis refuses (READONLY You can't write against a read only replica): use the address of its master, " + master.addr + ", or of Sentinels (sentinel://); still trying, for ")
	}
	replica.do(t, "REPLICAOF", "NO", "ONE")
	for _, r := range all {
		r.wantExit(0)
		r.wantSaid("holdfast: Redis answers again, after ")
	}
	master.do(t, "CONFIG", "SET", "min-replicas-to-write", "3")
	r := start(t, master.url(), nil, "run", "--ttl", "1s", "job", "--", "true")
	r.wantExit(cli.ExitUnreachable)
	r.wantSaid("refused: NOREPLICAS Not enough good replicas to write: bring the missing replicas back")
}

// A replica knows no subscription of its master, so each waiter seems to be gone there. ls and show
// report that, and ls --problems does not end as if there were no problem.
func TestLsOnReplica(t *testing.T) {
	t.Parallel()
	master, replica := startRedis(t), startRedis(t)
	host, port, _ := net.SplitHostPort(master.addr)
	replica.do(t, "REPLICAOF", host, port)
	start(t, master.url(), nil, "run", "job", "--", "holdfast", "run", "job", "--", "true")
	var code int
	var said string
	until(t, "the waiter is on the replica", func() bool {
		code, _, said = lsOf(t, replica, "--problems")
		return strings.Contains(said, "the server is a replica")
	})
	if code != cli.ExitUnreachable || !strings.Contains(said, "its master, "+master.addr) {
		t.Errorf("ls --problems: exit code %d, and it says %q", code, said)
	}
	wantShown(t, cli.ExitUnreachable, "its master, "+master.addr, "show", "job", "--redis", replica.url())
}

// A server that is not there yet is waited for, but not with -n.
func TestTakeBeforeServerStarts(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.stop(t)
	var all []*runner
	for name, args := range takers {
		r := start(t, server.url(), nil, args...)
		if name == "try" {
			r.wantExit(cli.ExitUnreachable)
			continue
		}
		all = append(all, r)
	}
	for _, r := range all {
		r.says("no answer from " + server.url() + ": ")
		r.wantSaid("; still trying, for ")
	}
	if !server.start(t) {
		t.Fatal("another process took the port")
	}
	for _, r := range all {
		r.wantExit(0)
		r.wantSaid("holdfast: Redis answers again, after ")
	}
}

// An error that does not pass ends a command at once, and the command says what to do.
func TestTakeRefusedAtOnce(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, "ACL", "SETUSER", "few", "on", ">pw", "~*", "&*", "+@all", "-set")
	server.do(t, "CONFIG", "SET", "requirepass", "hunter2")
	for url, want := range map[string]string{
		server.url():                     "refused: NOAUTH: put the password into a file for --redis-password-file, or into the URL: redis://:PASSWORD@HOST:PORT",
		"redis://u:wrong@" + server.addr: "refused: WRONGPASS invalid username-password pair or user is disabled: correct the user and the password in the URL",
		server.urlFor("few"):             "the server's user lacks a right that holdfast needs, +set",
	} {
		for name, args := range takers {
			out, err := exec.Command("holdfast", append([]string{args[0], "--redis", url}, args[1:]...)...).CombinedOutput()
			if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitNoPerm || !strings.Contains(string(out), want) { //nolint:errorlint // it is not wrapped
				t.Errorf("%s: %v, want exit code %d, and %q in:\n%s", name, err, cli.ExitNoPerm, want, out)
			}
			if strings.Contains(string(out), "trying") {
				t.Errorf("%s says %q, want it not to try again", name, out)
			}
		}
		if !strings.Contains(url, "few") {
			wantShown(t, cli.ExitNoPerm, want, "ls", "--redis", url)
			wantShown(t, cli.ExitNoPerm, want, "show", "job", "--redis", url)
		}
	}
}

// A server that accepts connections and says nothing, as one without TLS does when it is asked
// for TLS, is reported before the attempt ends.
func TestTakeWithoutAnswer(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	for url, want := range map[string]string{
		"rediss://" + server.addr:     " yet; if it has no TLS, use redis://; still trying, for ",
		"redis://" + answering(t, ""): " yet; still trying, for ",
	} {
		r := start(t, url, nil, "run", "--ttl", "2s", "job", "--", "true")
		r.wantExit(cli.ExitUnreachable)
		r.wantSaid("holdfast: no answer from " + url + want)
		r.wantSaid("holdfast: no answer from " + url + ": timed out")
	}
	r := start(t, "redis://"+answering(t, "-LOADING Redis is loading the dataset in memory\r\n"), nil, "run", "--ttl", "2s", "job", "--", "true")
	r.wantExit(cli.ExitUnreachable)
	r.wantSaid(" is not ready: LOADING Redis is loading the dataset in memory: wait until the server has loaded its data; still trying, for ")
}

// A holder also reports that its server has become a replica. It keeps its lease if that passes
// in time.
func TestHoldOnReplica(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRun(t, server.url(), note("pid", "$$")+"while [ ! -e stop ]; do sleep 0.02; done", "--ttl", "20s")
	r.pid("pid")
	server.do(t, "REPLICAOF", "127.0.0.1", "1") // no master is there, so that the data stays
	r.says("Redis refuses (READONLY You can't write against a read only replica): use the address of its master, 127.0.0.1:1, or of Sentinels (sentinel://); still trying, for ")
	r.wantSaid(" more before the lease is lost")
	server.do(t, "REPLICAOF", "NO", "ONE")
	r.says("Redis answers again, after ")
	r.write("stop")
	r.wantExit(0)
}
