//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

var updateShown = flag.Bool("update", false, "write testdata/shown again")

// long is a ttl that no test lives to see a renewal of; of two holders the one with the
// longer comes second.
const (
	long   = "--ttl=10m"
	longer = "--ttl=20m"
)

// stage is where one kind of lock is set up, with a server of its own. The name is
// job.
type stage struct {
	*testing.T
	*realServer
}

// holds starts a process that holds the name, and waits until the journal has its grant.
func (s stage) holds(owner string, flags ...string) {
	s.Helper()
	startRun(s.T, s.url(), note("pid", "$$")+idle, append([]string{"--owner", owner, long, "--details=none"}, flags...)...).pid("pid")
	until(s.T, "the journal has the grant", func() bool {
		var out bytes.Buffer
		runInProcess(s.Context(), &out, io.Discard, "history", "job", "-o", "json", "--redis", s.url())
		var entries []journal.Entry
		_ = json.Unmarshal(out.Bytes(), &entries) // else there are none yet
		return slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Event == journal.Granted && e.Owner == owner })
	})
}

// waits starts a process that waits for it, as the only one to come.
func (s stage) waits(owner string, flags ...string) {
	s.Helper()
	startRun(s.T, s.url(), "true", append(flags, "--owner", owner, long, "--details=none")...).says("waiting: ")
}

// client is a program's, here.
func (s stage) client(owner string) *holdfast.Client {
	s.Helper()
	store, err := rueidisstore.Open(s.url(), nil)
	if err != nil {
		s.Fatal(err)
	}
	client := holdfast.New(store, &holdfast.Options{Owner: owner, TTL: 10 * time.Minute})
	s.Cleanup(func() { client.Close(); store.Close() })
	return client
}

// ran runs the name once, with this outcome.
func (s stage) ran(outcome error) {
	s.Helper()
	err := s.client("a").Once(s.Context(), "job", time.Hour, func(context.Context, *holdfast.Lease) error { return outcome })
	if !errors.Is(err, outcome) {
		s.Fatalf("Once: got %v, want %v", err, outcome)
	}
}

// runs is in the middle of a run.
func (s stage) runs() {
	s.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	client := s.client("a")
	go func() {
		_ = client.Once(context.Background(), "job", time.Hour, func(context.Context, *holdfast.Lease) error {
			close(begun)
			<-end
			return nil
		})
	}()
	s.Cleanup(func() { close(end) })
	select {
	case <-begun:
	case <-time.After(patience):
		s.Fatal("Once does not begin")
	}
}

const evil = "e\x1b[2Jv\u202eil\x9b1m\a"

// What each kind of lock looks like in show and ls, as text and as JSON: the files in
// testdata/shown, which people have read. Times, hashes and tokens are left out.
func TestShown(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(s stage){
		"free":  func(stage) {},
		"mutex": func(s stage) { s.holds("a"); s.waits("b"); s.waits("c") },
		"cooldown": func(s stage) {
			startRun(s.T, s.url(), "true", "--min-hold", "10m", "--owner", "a").wantExit(0)
			s.waits("b")
		},
		"semaphore": func(s stage) {
			s.holds("a", "--of=4", "--permits=2")
			s.holds("b", "--of=4", longer)
			s.waits("c", "--of=4", "--permits=3")
			s.waits("d", "--of=4")
		},
		"idle": func(s stage) { startRun(s.T, s.url(), "true", "--of=4").wantExit(0) },
		"resized": func(s stage) {
			s.holds("a", "--of=4", "--permits=3")
			wantShown(s.T, 0, "", "resize", "job", "1", "--redis", s.url())
		},
		"readers":  func(s stage) { s.holds("a", "-s"); s.holds("b", "-s", longer); s.waits("w", "-x"); s.waits("c", "-s") },
		"writer":   func(s stage) { s.holds("w", "-x"); s.waits("a", "-s") },
		"election": func(s stage) { s.leads("10.0.0.3:80"); s.waits("b") },
		"foreign": func(s stage) {
			s.do(s.T, "SET", "holdfast/fence:{holdfast:job}", "1")
			s.do(s.T, "SET", "holdfast:job", "secret"+evil, "PX", "600000")
			s.waits("b")
		},
		"foreign_for_ever": func(s stage) {
			s.do(s.T, "SET", "holdfast/fence:{holdfast:job}", "1")
			s.do(s.T, "SET", "holdfast:job", "secret"+evil)
		},
		"exported": func(s stage) {
			lease, err := s.client("a").Mutex("job").Lock(s.Context())
			if err != nil {
				s.Fatal(err)
			}
			if _, err := lease.Export(); err != nil {
				s.Fatal(err)
			}
			s.waits("b")
		},
		"once":        func(s stage) { s.runs() },
		"once_done":   func(s stage) { s.ran(nil) },
		"once_failed": func(s stage) { s.ran(errors.New("no\x1b[2J disk\nleft")) },
		"hostile": func(s stage) {
			s.do(s.T, "SET", "holdfast/fence:{holdfast:job}", "5")
			s.do(s.T, "SET", "holdfast:job", "aaaa.bbbb.600000|"+evil, "PX", "600000")
			s.do(s.T, "SET", "holdfast/term:{holdfast:job}", "7 0 |aaaa.bbbb.600000|"+evil)
			s.do(s.T, "ZADD", "holdfast/queue:{holdfast:job}", "1", "cccc.dddd.600000|"+evil, "2", evil)
			s.do(s.T, "SET", "holdfast/once:{holdfast:job}", "5.1700000000000000.1700000001000000|"+evil+"|"+evil)
		},
		"hostile_rest": func(s stage) {
			s.do(s.T, "SET", "holdfast/fence:{holdfast:job}", "5")
			s.do(s.T, "SET", "holdfast:job", "cooldown|"+evil, "PX", "600000")
		},
		"hostile_kind": func(s stage) {
			s.do(s.T, "SET", "holdfast/fence:{holdfast:job}", "5")
			s.do(s.T, "HSET", "holdfast:job", "kind", evil, "capacity", "3")
			s.do(s.T, "ZADD", "holdfast/holders:{holdfast:job}", "9000000000000000", "aaaa.bbbb.600000.s2|"+evil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage{t, startRedis(t)}
			set(s)
			got := s.shown()
			file := filepath.Join("testdata", "shown", name+".txt")
			if *updateShown {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 || strings.Contains(got, "secret") {
				t.Errorf("shows what must not be: %q", got)
			}
		})
	}
}

// leads starts a process that leads the election, and waits until that is announced.
func (s stage) leads(value string) {
	s.Helper()
	startElect(s.T, s.url(), note("pid", "$$")+idle, "--value", value, "--owner", "a", long, "--details=none").pid("pid")
	until(s.T, "the term is announced", func() bool { return s.do(s.T, "EXISTS", "holdfast/term:{holdfast:job}") == ":1\r\n" })
}

// masks are what differs from run to run.
var masks = []struct{ is, shown string }{
	{`"20\d\d-\d\d-\d\dT[0-9:.]+Z"`, `"TIME"`},
	{`20\d\d-\d\d-\d\dT[0-9:]+Z`, `TIME`},
	{`((?:held|remaining|waited)_ms": )\d+`, `${1}N`},
	{`\b\d{16,}\b`, `TOKEN`},
	{`"[0-9a-f]{10}"`, `"HASH"`},
	{`\b[0-9a-f]{10}\b`, `HASH`},
	{`\b\d+h\d\dm\b`, `D`},
	{`\b(\d+h)?(\d+m)?[0-9.]+m?s( of)?\b`, `D$3`},
	{` +(\n|$)`, `$1`},
	{` {3,}`, `  `},
}

func (s stage) shown() string {
	s.Helper()
	var all strings.Builder
	for _, args := range [][]string{{"show", "job"}, {"ls"}, {"show", "job", "-o", "json"}, {"ls", "-q", "-o", "json"}} {
		var out bytes.Buffer
		if code := runInProcess(s.Context(), &out, &out, append(args, "--redis", s.url())...); code != 0 {
			s.Errorf("%v: exit code %d, want 0", args, code)
		}
		text := out.String()
		for _, mask := range masks {
			text = regexp.MustCompile(mask.is).ReplaceAllString(text, mask.shown)
		}
		all.WriteString("-- " + strings.Join(args, " ") + " --\n" + text)
	}
	return all.String()
}
