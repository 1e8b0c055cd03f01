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

// The command show shows what the holder and the waiters of a name run. With --details none it shows
// nothing.
func TestRunStoresDetails(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	holder := startRun(t, server.URL(), note("pid", "$$")+idle, "--owner", "first", "--note", "ticket 7")
	holder.pid("pid")
	waiter := startRun(t, server.URL(), "true", "--owner", "second", "--details", "none")
	var text string
	until(t, "the details are shown", func() bool {
		var out bytes.Buffer
		runInProcess(t.Context(), &out, &out, "show", "job", "--redis", server.URL())
		text = out.String()
		return strings.Contains(text, "ticket 7") && strings.Contains(text, "second")
	})
	host, _ := os.Hostname()
	for _, want := range []string{host, "\ncommand       sh and 2 arguments\n", "\nwhy           held-healthy: held by first (", "  1  second  for "} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
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

// secretArguments have the secret hunter2 where programs take one.
var secretArguments = []string{
	"curl", "--user", "bob:hunter2", "-sSubob:hunter2", "https://x.test/blob?sig=hunter2", "-bsid=hunter2", "zip", "-P", "hunter2",
	"docker", "login", "-phunter2", "--password=hunter2", "PGPASSWORD=hunter2", "openssl", "-passin", "pass:hunter2", "hunter2",
}

// everything is a script that returns all texts in Redis.
const everything = `local all = ''
for _, key in ipairs(redis.call('KEYS', '*')) do
	local read = {string={'GET', key}, hash={'HGETALL', key}, stream={'XRANGE', key, '-', '+'}, zset={'ZRANGE', key, 0, -1}}
	all = all .. key .. cjson.encode(redis.call(unpack(read[redis.call('TYPE', key).ok])))
end
return all`

// No argument of a command reaches Redis or a page, unless --details command asks for that.
func TestRunStoresNoArguments(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	var runs []*runner
	for _, args := range [][]string{{"run", "a"}, {"elect", "b"}, {"run", "--details", "command", "c"}} {
		argv := append([]string{"sh", "-c", note("pid", "$$") + idle}, secretArguments...)
		r := start(t, server.url(), []string{"HOLDFAST_DETAILS=program"}, append(append(args, "--"), argv...)...)
		r.pid("pid")
		stored := ""
		until(t, "the details are stored", func() bool {
			stored = server.do(t, "EVAL", everything, "0")
			return strings.Count(stored, "holdfast/client:") > len(runs)
		})
		runs = append(runs, r)
		asked := args[1] == "--details"
		if got := strings.Contains(stored, "hunter2"); got != asked {
			t.Errorf("%s: Redis has an argument: %t, want %t, in\n%s", args, got, asked, stored)
		}
		if asked {
			continue
		}
		for _, page := range []string{"show " + args[1], "show -o json " + args[1], "ls", "ls -o json", "top --once", "history " + args[1], "history -o json " + args[1], "jobs", "jobs -o json"} {
			if text := wantShown(t, 0, "", append(strings.Fields(page), "--redis", server.url())...); strings.Contains(text, "hunter2") {
				t.Errorf("%s: %s shows an argument:\n%s", args, page, text)
			}
		}
		wantShown(t, 0, "sh and 20 arguments", "show", args[1], "--redis", server.url())
	}
	wantShown(t, 0, "curl --user bob:hunter2 ", "show", "c", "--redis", server.url())
	for _, r := range runs {
		r.send(syscall.SIGTERM)
		r.wantExit(128 + int(syscall.SIGTERM))
	}
}
