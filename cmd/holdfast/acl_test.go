//go:build unix

package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// aclLine is what docs/guide/08-operating.md says to give a user, with a password.
func aclLine(t *testing.T, user string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ACL SETUSER ` + user + ` .*$`).FindString(string(text))
	if line == "" {
		t.Fatalf("docs/guide/08-operating.md has no line for the user %s", user)
	}
	return strings.Fields(strings.Replace(line, ">PASSWORD", ">pw", 1))
}

// journalRights are the further rights that docs/guide/08-operating.md gives the journal.
func journalRights(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("the journal \\| `([^`]*)`").FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/guide/08-operating.md does not say what the journal needs")
	}
	return strings.Fields(string(found[1]))
}

func (s *realServer) urlFor(user string) string { return "redis://" + user + ":pw@" + s.addr }

// The line of docs/guide/08-operating.md is enough for the command: run, waiting and
// waking, ls, show and doctor work with it, and the server has nothing to refuse.
// That it is the least, test/rights shows. The journal needs more, which stands there, too.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, aclLine(t, "app")...)
	server.do(t, append([]string{"ACL", "SETUSER", "app"}, journalRights(t)...)...)
	server.do(t, "ACL", "LOG", "RESET")
	url := server.urlFor("app")
	holder := startRun(t, url, note("pid", "$$")+"while [ ! -e stop ]; do sleep 0.02; done", "--owner", "first", "--ttl", "6s")
	holder.pid("pid")
	waiter := startRun(t, url, "true", "-v", "--owner", "second")
	waiter.says("queued: job is held by first; 1st in the queue")
	for _, args := range [][]string{{"ls"}, {"show", "job"}} {
		wantShown(t, 0, "first", append(args, "--redis", url)...)
	}
	for _, args := range [][]string{{"history", "job"}, {"jobs"}} { // the journal is written in the background
		until(t, args[0]+" tells of the first", func() bool {
			var out bytes.Buffer
			return runInProcess(t.Context(), &out, &out, append(args, "--redis", url)...) == 0 && strings.Contains(out.String(), "first")
		})
	}
	wantShown(t, 0, "OK ", "doctor", "--redis", url)
	holder.write("stop")
	holder.wantExit(0)
	waiter.wantExit(0)
	if got := server.do(t, "ACL", "LOG"); got != "*0\r\n" {
		t.Errorf("the server refused: %s", got)
	}
}

// Who has no right to the journal is told so once, however short the command, and
// the command runs all the same.
func TestJournalIsRefused(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, aclLine(t, "app")...)
	const refused = "the journal can't be written: the server's user lacks a right that the journal needs (to read +xrange "
	for flags, want := range map[string][]string{"": {refused}, "-q": nil, "--no-journal": nil} {
		r := startRun(t, server.urlFor("app"), "touch ran", strings.Fields(flags)...)
		r.wantExit(0)
		r.wantLines(want...)
		if !r.exists("ran") {
			t.Errorf("with %q nothing was run", flags)
		}
	}
	r := startRun(t, server.urlFor("app"), "sleep 1", "-v")
	r.wantExit(0)
	if got := strings.Count(r.stderr.String(), refused); got != 1 {
		t.Errorf("with -v told %d times, want once, in:\n%s", got, r.stderr.String())
	}
	json := startRun(t, server.urlFor("app"), "true", "--log-format", "json")
	json.wantExit(0)
	json.wantSaid(`"level":"WARN","msg":"` + refused)
	json.wantSaid(`; --no-journal does without"}`)
}

// Who may only look can look, and change nothing.
func TestRightsOfAWatcher(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, aclLine(t, "watcher")...)
	url := server.urlFor("watcher")
	refused := startRun(t, url, "touch ran", "-n")
	refused.wantExit(cli.ExitNoPerm)
	refused.wantSaid("holdfast: job: ")
	if got := server.do(t, "DBSIZE"); got != ":0\r\n" || refused.exists("ran") {
		t.Errorf("keys: got %q, want none, and that nothing ran", got)
	}
	holder := startRun(t, server.url(), note("pid", "$$")+idle, "--owner", "first")
	holder.pid("pid")
	wantShown(t, 0, "first", "ls", "--redis", url)
	wantShown(t, 0, "first", "show", "job", "--redis", url)
}

// A user of some names locks and sees those, and is told that there are others:
// exit code 77.
func TestLsOfSomeNames(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	var line []string
	for _, word := range aclLine(t, "app") {
		switch word {
		case "~holdfast:*":
			line = append(line, "~holdfast:j*")
		case "~holdfast/*":
			line = append(line, "~holdfast/fence:{holdfast:j*", "~holdfast/queue:{holdfast:j*")
		default:
			line = append(line, word)
		}
	}
	server.do(t, line...)
	server.do(t, "SET", "holdfast/fence:{holdfast:other}", "1")
	server.do(t, "SET", "holdfast/fence:{holdfast:third}", "1")
	url := server.urlFor("app")
	holder := startRun(t, url, note("pid", "$$")+idle, "--owner", "first")
	holder.pid("pid")

	text := wantShown(t, cli.ExitNoPerm, "first", "ls", "--redis", url)
	if want := "2 names are left out; the first: other: "; !strings.Contains(text, want) || !strings.Contains(text, "NOPERM") {
		t.Errorf("said %q, want %q and why", text, want)
	}
	text = wantShown(t, cli.ExitNoPerm, `"owner": "first"`, "ls", "-o", "json", "--redis", url)
	if !strings.Contains(text, "\n]\n") {
		t.Errorf("printed %s, want a whole array", text)
	}
	wantShown(t, 0, "first", "ls", "jo", "--redis", url)
	wantShown(t, cli.ExitNoPerm, "NOPERM", "show", "other", "--redis", url)
}

// wantShown runs the program here, and gives what it printed and said.
func wantShown(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := runInProcess(t.Context(), &out, &out, args...); got != code || !strings.Contains(out.String(), want) {
		t.Errorf("holdfast %s: exit code %d, want %d, and %q in:\n%s", strings.Join(args, " "), got, code, want, &out)
	}
	return out.String()
}
