//go:build unix

package many_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// batchName is a name in a random state, on two servers.
type batchName struct {
	L, F, Q string
	servers [2]*redistest.Server
}

func (n batchName) do(t *testing.T, args ...any) {
	for _, s := range n.servers {
		s.MustDo(t, args...)
	}
}

// draw leaves the name as it may be found.
func (n batchName) draw(t *testing.T, random *rand.Rand) {
	switch random.IntN(8) {
	case 0:
		n.do(t, "SET", n.L, "client.other.5000|o", "PX", 100_000)
	case 1, 2, 3:
		n.do(t, "SET", n.L, "client.mine.5000|o", "PX", 100_000)
	case 4:
		n.do(t, "SET", n.L, "another program's")
	case 5:
		n.do(t, "HSET", n.L, "kind", "semaphore", "capacity", "3")
	}
	if random.IntN(3) == 0 {
		n.do(t, "ZADD", n.Q, 1, "client.waits.5000|o")
	}
	switch random.IntN(9) {
	case 0:
		n.do(t, "SET", n.F, "7000000000000000", "PX", 100_000) // years ahead of the clock
	case 1:
		n.do(t, "SET", n.F, "9007199254740991", "PX", 100_000) // the last token there is
	case 2:
		n.do(t, "SET", n.F, "9007199254740992", "PX", 100_000)
	case 3:
		n.do(t, "SET", n.F, "none")
	case 4:
		n.do(t, "RPUSH", n.F, "none")
	case 5:
		n.do(t, "SET", n.F, "3400000000000000", "PX", 100_000)
	case 6:
		n.do(t, "SET", n.F, "3400000000000000 other", "PX", 100_000) // to whom the newest grant was pushed
	case 7:
		n.do(t, "SET", n.F, "0x10")
	}
}

// looks is all that a server knows of the name.
func (n batchName) looks(t *testing.T, s *redistest.Server) string {
	return s.MustDo(t, "EVAL", `
local all = {}
for i, key in ipairs(KEYS) do
  local is = redis.call('TYPE', key).ok
  all[#all + 1] = is .. (redis.call('PTTL', key) < 0 and ' for ever ' or ' for a time ')
  if is == 'string' then all[#all + 1] = redis.call('GET', key) end
  if is == 'zset' then all[#all + 1] = table.concat(redis.call('ZRANGE', key, 0, -1), ',') end
end
return table.concat(all, ' ')`, 3, n.L, n.F, n.Q)
}

// ofNow are tokens by the clock of these years.
var ofNow = regexp.MustCompile(`\b3\d{15}\b`)

// Whatever a batch says of a name, lock and unlock say the same of it; what they
// would do for a name that nobody else wants it does, and of any other it changes
// nothing.
func TestBatchIsLockAndUnlock(t *testing.T) {
	t.Parallel()
	servers := [2]*redistest.Server{redistest.Start(t, redistest.Options{}), redistest.Start(t, redistest.Options{})}
	batched, alone := servers[0], servers[1]
	random := rand.New(rand.NewPCG(7, 11))
	did := map[string]int{}
	for range 600 {
		batched.MustDo(t, "FLUSHALL")
		alone.MustDo(t, "FLUSHALL")
		var names []batchName
		var keys, lines, args []any
		var before []string
		var locks []bool
		for i := range 2 + random.IntN(8) {
			n := batchName{fmt.Sprint("n", i), fmt.Sprintf("holdfast/fence:{n%d}", i), fmt.Sprintf("holdfast/queue:{n%d}", i), servers}
			n.draw(t, random)
			ttl := ""
			if random.IntN(2) == 0 {
				ttl = "5000"
			}
			names, locks, before = append(names, n), append(locks, ttl != ""), append(before, n.looks(t, batched))
			keys, lines, args = append(keys, n.L, n.F), append(lines, n.Q), append(args, "client.mine.5000|o", ttl)
		}
		call := append(append(append([]any{"EVAL", script.LockBatch.Source, 3 * len(names)}, keys...), lines...), args...)
		said := strings.Split(strings.TrimSpace(batched.MustDo(t, call...)), "\n")
		if len(said) != len(names) {
			t.Fatalf("%d names, answer %q", len(names), said)
		}
		for i, n := range names {
			words := strings.Fields(said[i])
			did[words[0]]++
			if words[0] == "again" && n.looks(t, batched) != before[i] {
				t.Fatalf("left alone: got %s, want %s as it was", n.looks(t, batched), before[i])
			}
			one := []any{"EVAL", script.Unlock.Source, 3, n.L, n.F, n.Q, "client.mine.5000|o"}
			if locks[i] {
				one = append([]any{"EVAL", script.Lock.Source}, one[2:]...)
			}
			single, err := alone.Do(one...)
			answer := strings.Fields(single)
			if err != nil || len(answer) == 0 {
				answer = []string{"refused"}
			}
			simple := !strings.Contains(before[i], "client.waits") && (!locks[i] || strings.HasPrefix(before[i], "none"))
			switch {
			case words[0] != "again" && words[0] != answer[0]:
				t.Fatalf("%s: a batch says %q, alone %q, %v", before[i], said[i], single, err)
			case words[0] == "again" && simple && (answer[0] == "granted" || answer[0] == "released"):
				t.Fatalf("%s: left alone, though alone it is %s", before[i], single)
			case words[0] == "again":
			case ofNow.ReplaceAllString(n.looks(t, batched), "now") != ofNow.ReplaceAllString(n.looks(t, alone), "now"):
				t.Fatalf("%s: a batch left %s, a single call %s", before[i], n.looks(t, batched), n.looks(t, alone))
			case words[0] == "granted" && (words[2] != answer[2] || words[3] != answer[3] || !near(t, words[1], answer[1])):
				t.Fatalf("%s: a batch says %q, alone %q", before[i], said[i], single)
			}
		}
	}
	if did["granted"] < 100 || did["released"] < 100 || did["again"] < 100 {
		t.Errorf("answers: %v, want more than a hundred of each", did)
	}
	t.Log(did)
}

// near tells that two tokens are of the same minute, or the same.
func near(t *testing.T, a, b string) bool {
	t.Helper()
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil {
		t.Fatalf("tokens %q, %q", a, b)
	}
	return x-y < 120_000_000 && y-x < 120_000_000
}

// A name that stands twice in a batch is one's only, and is ended once.
func TestBatchWithANameTwice(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	batch := func(args ...any) string {
		call := []any{"EVAL", script.LockBatch.Source, 6, "n", "holdfast/fence:{n}", "n", "holdfast/fence:{n}", "holdfast/queue:{n}", "holdfast/queue:{n}"}
		return strings.TrimSpace(s.MustDo(t, append(call, args...)...))
	}
	s.MustDo(t, "SET", "holdfast/fence:{n}", "3400000000000000", "PX", 100_000)
	if got := strings.Split(batch("client.a.5000|o", "5000", "client.b.5000|o", "5000"), "\n"); !strings.HasPrefix(got[0], "granted") || got[1] != "again" {
		t.Errorf("two who want the same name: got %q, want the first one granted and the second left alone", got)
	}
	if got := s.MustDo(t, "GET", "n"); got != "client.a.5000|o" {
		t.Errorf("it is held by %q, want a", got)
	}
	if got := batch("client.a.5000|o", "", "client.b.5000|o", "5000"); got != "released\nagain" {
		t.Errorf("one ends and one begins: got %q", got)
	}
}

// No token is given twice, not even where there is none left.
func TestLastToken(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	s.MustDo(t, "SET", "holdfast/fence:{n}", "9007199254740990")
	lock := func() (string, error) {
		defer s.MustDo(t, "DEL", "n")
		return s.Do("EVAL", script.Lock.Source, 3, "n", "holdfast/fence:{n}", "holdfast/queue:{n}", "client.mine.5000|o")
	}
	if got, err := lock(); err != nil || !strings.HasPrefix(got, "granted 9007199254740991 1 ") {
		t.Errorf("got %q, %v, want the last token", got, err)
	}
	if got, err := lock(); err == nil {
		t.Errorf("got %q behind the last token, want an error", got)
	}
}
