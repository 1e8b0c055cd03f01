package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var hugeMB = flag.Int("huge.mb", 64, "MB of the text that TestHugeValueUnderAnotherName stores")

// attacks are what a user with the documented rights for the names web:* stores: some commands, and
// one that is sent many times. X is a huge text, # the number of the command.
var attacks = []struct {
	what     string
	commands []string
	many     string
}{
	{"lock key", []string{"SET L X"}, ""},
	{"lock key like an id", []string{"SET L c.n.60000|X"}, ""},
	{"fence", []string{"SET F X"}, ""},
	{"revocation", []string{"SET L c.n.60000|o", "SET holdfast/revocation:{holdfast:web:1} X"}, ""},
	{"waiter", []string{"ZADD Q 1 c.n.60000|X"}, ""},
	{"kind", []string{"HSET L kind X"}, ""},
	{"holder", []string{"HSET L kind semaphore capacity 5", "ZADD H 4e15 c.n.60000.s2|X"}, ""},
	{"size", []string{"SET holdfast/size:{holdfast:web:1} X", "SET F 1"}, ""},
	{"term", []string{"SET L c.n.60000|o", "SET holdfast/term:{holdfast:web:1} X"}, ""},
	{"details", []string{"SET L c.n.60000|o", "SET holdfast/client:c X"}, ""},
	{"job", []string{"HSET holdfast/jobs:holdfast: x X"}, ""},
	{"name of a job", []string{"HSET holdfast/jobs:holdfast: X 1"}, ""},
	{"journal entry", []string{"XADD holdfast/journal:holdfast: * name web:1 more X"}, ""},
	{"sum of an hour", []string{"HSET holdfast/sums:{holdfast/journal:holdfast:} 1 X"}, ""},
	{"name", []string{"SET LX c.n.60000|o"}, ""},
	{"waiter of many", []string{"ZADD Q 1 X"}, "ZADD Q # c#.n.60000|o"},
	{"100,000 waiters", nil, "ZADD Q # c#.n.60000|o"},
	{"100,000 holders", []string{"HSET L kind semaphore capacity 900000"}, "ZADD H 4e15 c#.n.60000.s2|o"},
	{"100,000 fields", nil, "HSET L # #"},
	{"100,000 jobs", nil, "HSET holdfast/jobs:holdfast: # #"},
	{"100,000 entries", nil, "XADD holdfast/journal:holdfast: * name web:1"},
}

// A user who may use some names stores huge texts and many small ones under them. The holder of
// another name keeps its lease, and a server with an open dashboard stays within the 256 MiB of
// deploy/kubernetes.
func TestHugeValueUnderAnotherName(t *testing.T) {
	server := startRedis(t)
	server.do(t, aclLine(t, "app")...)
	server.do(t, append([]string{"ACL", "SETUSER", "app", "+hmget", "+hset", "+hstrlen", "+zcount"}, journalRights(t)...)...)
	server.do(t, append([]string{"ACL", "SETUSER", "mallory", "on", ">pw"}, rightsOfSomeNames(t)...)...)

	serve := startServe(t, server.urlFor("app"))
	holder := startRun(t, server.urlFor("app"), going)
	holder.pid("pid")
	var pictures atomic.Int64
	go watchPictures(t, serve.url, &pictures)
	settled := func(what string) {
		t.Helper()
		seen := pictures.Load()
		for limit := time.Now().Add(4 * patience); pictures.Load() < seen+3; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("the dashboard does not show the state %s", what)
			}
		}
		for _, page := range []string{"/", "/lock?name=web:1", "/jobs", "/events", "/timeline", "/v1/locks", "/v1/jobs", "/v1/history"} {
			if answer, err := http.Get(serve.url + page); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	}
	settled("before")
	for _, a := range attacks {
		began := time.Now()
		storeAs(t, server, a.commands, a.many)
		stored := time.Since(began)
		settled("with a huge " + a.what)
		used := memoryOf(t, serve.Process.Pid)
		t.Logf("%-20s stored in %5d ms, looked at in %5d ms, serve has used %4d MiB", a.what, stored.Milliseconds(), (time.Since(began) - stored).Milliseconds(), used)
		if used > 256 {
			t.Errorf("%s: serve has used %d MiB, want 256 at most", a.what, used)
		}
		if said := holder.stderr.String(); strings.Contains(said, "lost job") {
			t.Errorf("%s: the lease of another name was lost: %s", a.what, said)
		}
		server.do(t, "EVAL", "for _, key in ipairs(redis.call('KEYS', 'holdfast*')) do if not string.find(key, 'job') or string.find(key, '/jobs:') then redis.call('UNLINK', key) end end", "0")
		if t.Failed() {
			return
		}
	}
	holder.write("stop")
	holder.wantExit(0)
}

// rightsOfSomeNames are those that docs/guide/08-operating.md gives a user of the names web:*.
func rightsOfSomeNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	rights := []string{"&holdfast/push:*"}
	for _, key := range regexp.MustCompile(`~holdfast[:/]\S*(?:web:\*|/\*|client:\*|journal:holdfast:|jobs:holdfast:|\}\*)`).FindAllString(string(text), -1) {
		if key = strings.TrimRight(key, "`.,"); key != "~holdfast/*" {
			rights = append(rights, key)
		}
	}
	for _, right := range append(append(aclLine(t, "app"), journalRights(t)...), "+hmget", "+hset", "+hstrlen", "+zcount", "+unlink") {
		if strings.HasPrefix(right, "+") {
			rights = append(rights, right)
		}
	}
	return rights
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

// storeAs sends commands as the user mallory.
func storeAs(t *testing.T, server *realServer, commands []string, many string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(4 * patience))
	keys := strings.NewReplacer("L", "holdfast:web:1", "F ", "holdfast/fence:{holdfast:web:1} ", "Q", "holdfast/queue:{holdfast:web:1}",
		"H ", "holdfast/holders:{holdfast:web:1} ", "X", strings.Repeat("x", *hugeMB<<20))
	all := []string{"AUTH mallory pw"}
	for _, c := range commands {
		verb, rest, _ := strings.Cut(c, " ")
		all = append(all, verb+" "+keys.Replace(rest))
	}
	if verb, rest, ok := strings.Cut(many, " "); ok {
		rest = keys.Replace(rest)
		for i := range 100_000 {
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
