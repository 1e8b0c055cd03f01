package attack_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

var (
	hugeMB   = flag.Int("huge.mb", 64, "MB of the text that TestHugeValueUnderAnotherName stores")
	hugeOnly = flag.String("huge.only", "", "regular expression: what it stores")
)

// attacks are what a user with the documented rights for the names web:* stores: some commands, and
// one that is sent n times. X is a huge text, N a long one, # the number of the command.
var attacks = []struct {
	what     string
	commands []string
	many     string
	n        int
}{
	{"lock key", []string{"SET L X"}, "", 0},
	{"lock key like an id", []string{"SET L c.n.60000|X"}, "", 0},
	{"fence", []string{"SET F X"}, "", 0},
	{"revocation", []string{"SET L c.n.60000|o", "SET holdfast/revocation:{holdfast:web:1} X"}, "", 0},
	{"waiter", []string{"ZADD Q 1 c.n.60000|X"}, "", 0},
	{"kind", []string{"HSET L kind X"}, "", 0},
	{"holder", []string{"HSET L kind semaphore capacity 5", "ZADD H 4e15 c.n.60000.s2|X"}, "", 0},
	{"size", []string{"SET holdfast/size:{holdfast:web:1} X", "SET F 1"}, "", 0},
	{"term", []string{"SET L c.n.60000|o", "SET holdfast/term:{holdfast:web:1} X"}, "", 0},
	{"details", []string{"SET L c.n.60000|o", "SET holdfast/client:c X"}, "", 0},
	{"job", []string{"HSET holdfast/jobs:holdfast: x X"}, "", 0},
	{"name of a job", []string{"HSET holdfast/jobs:holdfast: X 1"}, "", 0},
	{"journal entry", []string{"XADD holdfast/journal:holdfast: * name web:1 more X"}, "", 0},
	{"sum of an hour", []string{"HSET holdfast/sums:{holdfast/journal:holdfast:} 1 X"}, "", 0},
	{"name", []string{"SET LX c.n.60000|o"}, "", 0},
	{"waiter of many", []string{"ZADD Q 1 X"}, "ZADD Q # c#.n.60000|o", 100_000},
	{"100,000 names", nil, "SET L# c.n.60000|o", 100_000},
	{"19,900 long names", nil, "SET LN# c.n.60000|o", 19_900},
	{"100,000 waiters", nil, "ZADD Q # c#.n.60000|o", 100_000},
	{"100,000 holders", []string{"HSET L kind semaphore capacity 900000"}, "ZADD H 4e15 c#.n.60000.s2|o", 100_000},
	{"100,000 fields", nil, "HSET L # #", 100_000},
	{"100,000 jobs", nil, "HSET holdfast/jobs:holdfast: # #", 100_000},
	{"100,000 entries", nil, "XADD holdfast/journal:holdfast: * name web:1", 100_000},
}

// A user who may use some names stores huge texts and many small ones under them. The holder of
// another name keeps its lease, and a server with an open dashboard stays within the 256 MiB of
// deploy/kubernetes.
func TestHugeValueUnderAnotherName(t *testing.T) {
	redis := redistest.Start(t, redistest.Options{})
	app := clienttest.Place{Servers: []*redistest.Server{redis}, Scheme: "redis"}
	commands := rights(t, app)
	url := app.User(t, append(commands, "~holdfast:*", "~holdfast/*", "&holdfast/push:*"))
	clienttest.SetUser(t, redis, "mallory", slices.Concat(commands, keysOfSomeNames(t), []string{"&holdfast/push:*"}))

	s := serve(t, url)
	holder := start(t, "run", "--redis", url, "job", "--", "sh", "-c", "echo holds; exec cat")
	var pictures atomic.Int64
	go watchPictures(t, s.url(), &pictures)
	settled := func(what string) {
		t.Helper()
		known := pictures.Load() + 1 // that one may be older
		for limit := time.Now().Add(4 * clienttest.Patience); pictures.Load() <= known; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("the dashboard does not show the state %s", what)
			}
		}
		for _, page := range []string{"/", "/lock?name=web:1", "/jobs", "/events", "/timeline", "/v1/locks", "/v1/jobs", "/v1/history", "/metrics"} {
			if answer, err := s.send(http.MethodGet, page, ""); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	}
	settled("before")
	for _, a := range attacks {
		if !regexp.MustCompile(*hugeOnly).MatchString(a.what) {
			continue
		}
		began := time.Now()
		send(t, redis, *hugeMB, a.n, a.many, append([]string{"AUTH mallory pw"}, a.commands...)...)
		stored := time.Since(began)
		settled("with a huge " + a.what)
		used := memoryOf(t, s.cmd.Process.Pid)
		t.Logf("%-20s stored in %5d ms, looked at in %5d ms, serve has used %4d MiB", a.what, stored.Milliseconds(), (time.Since(began) - stored).Milliseconds(), used)
		if used > 256 {
			t.Errorf("%s: serve has used %d MiB, want 256 at most", a.what, used)
		}
		if said := holder.said.String(); strings.Contains(said, "lost job") {
			t.Errorf("%s: the lease of another name was lost: %s", a.what, said)
		}
		if a.what == "100,000 names" {
			s.wantTooMany()
		}
		redis.MustDo(t, "EVAL", "for _, key in ipairs(redis.call('KEYS', 'holdfast*')) do if not string.find(key, 'job') or string.find(key, '/jobs:') then redis.call('UNLINK', key) end end", 0)
		if t.Failed() {
			return
		}
	}
	_ = holder.stdin.Close()
	select {
	case err := <-holder.ended:
		if err != nil {
			t.Errorf("run: %v\n%s", err, holder.said.String())
		}
	case <-time.After(clienttest.Patience):
		t.Error("run has not ended")
	}
}

// wantTooMany wants page and API to say why they do not show the names of now. Their answers may be
// 2 s old.
func (s server) wantTooMany() {
	s.t.Helper()
	clienttest.Eventually(s.t, "the page says that there are too many names", func() bool {
		r, err := s.send(http.MethodGet, "/locks", "")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		page, _ := io.ReadAll(r.Body)
		return strings.Contains(string(page), "too many names")
	})
	clienttest.Eventually(s.t, "/v1/locks says that there are too many names", func() bool {
		status, answer := s.ask(http.MethodGet, "/v1/locks", "")
		return status == http.StatusServiceUnavailable && strings.Contains(fmt.Sprint(answer["detail"]), "more than 20000 names")
	})
}

// rights are all that docs/guide/08-operating.md gives users of all kinds of locks with a journal.
func rights(t *testing.T, p clienttest.Place) (commands []string) {
	t.Helper()
	for _, right := range p.DocumentedRights(t, "app") {
		if strings.HasPrefix(right, "+") {
			commands = append(commands, right)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (?:`Semaphore`, `RWMutex`|the journal) \\| `([^`]*)`").FindAllStringSubmatch(clienttest.Operating(t), -1) {
		commands = append(commands, strings.Fields(row[1])...)
	}
	return commands
}

// keysOfSomeNames are those that docs/guide/08-operating.md gives a user of the names web:*.
func keysOfSomeNames(t *testing.T) (keys []string) {
	t.Helper()
	for _, key := range regexp.MustCompile(`~holdfast[:/]\S*(?:web:\*|/\*|client:\*|journal:holdfast:|jobs:holdfast:|\}\*)`).FindAllString(clienttest.Operating(t), -1) {
		if key = strings.TrimRight(key, "`.,"); key != "~holdfast/*" {
			keys = append(keys, key)
		}
	}
	return keys
}

// watchPictures counts the pictures that the dashboard announces.
func watchPictures(t *testing.T, url string, pictures *atomic.Int64) {
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/stream", nil)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: picture") {
			pictures.Add(1)
		}
	}
}

// memoryOf returns the most MiB that a process has had in memory.
func memoryOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("no VmHWM of %d: %v", pid, err)
	}
	kb, _ := strconv.Atoi(string(found[1]))
	return kb / 1024
}

// send sends commands, and one of them n times. X is a text of mb MB.
func send(t *testing.T, redis *redistest.Server, mb, n int, many string, commands ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", redis.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(4 * clienttest.Patience))
	keys := strings.NewReplacer("L", "holdfast:web:1", "F ", "holdfast/fence:{holdfast:web:1} ", "Q", "holdfast/queue:{holdfast:web:1}",
		"H ", "holdfast/holders:{holdfast:web:1} ", "X", strings.Repeat("x", mb<<20), "N", strings.Repeat("n", 200))
	var all []string
	for _, c := range commands {
		verb, rest, _ := strings.Cut(c, " ")
		all = append(all, verb+" "+keys.Replace(rest))
	}
	if verb, rest, ok := strings.Cut(many, " "); ok {
		rest = keys.Replace(rest)
		for i := range n {
			all = append(all, verb+" "+strings.ReplaceAll(rest, "#", strconv.Itoa(i)))
		}
	}
	go func() {
		to := bufio.NewWriter(conn)
		for _, c := range all {
			words := strings.Split(c, " ")
			fmt.Fprintf(to, "*%d\r\n", len(words))
			for _, word := range words {
				fmt.Fprintf(to, "$%d\r\n", len(word))
				_, _ = to.WriteString(word)
				_, _ = to.WriteString("\r\n")
			}
		}
		_ = to.Flush()
	}()
	answers := bufio.NewReader(conn)
	for range all {
		answer, err := answers.ReadString('\n')
		if err == nil && answer[0] == '$' { // the id of an entry
			_, err = answers.ReadString('\n')
		}
		if err != nil || answer[0] == '-' {
			t.Fatalf("the attacker got %q, %v", answer, err)
		}
	}
}

// A client that may write to the keys has put a huge text into the record of notifications. It is
// removed unread.
func TestServeReadsNoHugeRecord(t *testing.T) {
	t.Parallel()
	const key = "holdfast/notified:holdfast:"
	redis := redistest.Start(t, redistest.Options{})
	send(t, redis, 300, 0, "", "HSET "+key+" n X")
	s := serve(t, redis.URL(), "--notify", "http://127.0.0.1:1/")
	clienttest.Eventually(t, "the record is removed", func() bool { return redis.MustDo(t, "HSTRLEN", key, "n") == "0" })
	if used := memoryOf(t, s.cmd.Process.Pid); used > 256 {
		t.Errorf("serve has used %d MiB, want 256 at most", used)
	}
}
