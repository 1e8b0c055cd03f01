//go:build unix

package quorum_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// These tests hold the tables of docs/quorum.md against a real server.

const (
	quorumOfTests = "demo/1/3-0123456789"
	voterA        = "clientA.nonceA.15000|host:1"
	voterB        = "clientB.nonceB.15000|host:2"
)

// quorumNode is one node and a hand at its scripts.
type quorumNode struct {
	t      *testing.T
	server *redistest.Server
	store  driver.Store
}

func startNode(t *testing.T, options redistest.Options) *quorumNode {
	t.Helper()
	s := redistest.Start(t, options)
	n := &quorumNode{t, s, clienttest.OpenStore(t, s.URL(), nil)}
	n.expect("marked", n.eval(script.QuorumMark, quorumOfTests, "0", ""))
	return n
}

func (n *quorumNode) try(s *driver.Script, args ...string) ([]string, error) {
	keys := []string{"L", "F", keyM}
	switch s {
	case script.QuorumLock:
		keys = append(keys, "wanted")
		if len(args) == 3 {
			args = append(args, "0") // nobody waits
		}
	case script.QuorumRaise:
		keys = keys[:2]
	case script.QuorumUnlock:
		keys = []string{"L", "wanted"}
	case script.QuorumMark, script.QuorumInspect:
		keys = keys[2:]
	}
	return n.store.Eval(n.t.Context(), driver.Call{Script: s, Keys: keys, Args: args})
}

func (n *quorumNode) eval(s *driver.Script, args ...string) []string {
	n.t.Helper()
	reply, err := n.try(s, args...)
	if err != nil {
		n.t.Fatalf("%s %v: %v", s.Name, args, err)
	}
	return reply
}

func (n *quorumNode) lock(id string, proposed int64) []string {
	n.t.Helper()
	return n.eval(script.QuorumLock, id, strconv.FormatInt(proposed, 10), quorumOfTests)
}

func (n *quorumNode) expect(word string, reply []string) []string {
	n.t.Helper()
	if len(reply) == 0 || reply[0] != word {
		n.t.Fatalf("got %q, want %s", reply, word)
	}
	return reply
}

// now is the server's time in tokens.
func (n *quorumNode) now() int64 {
	seconds, us, _ := strings.Cut(n.server.MustDo(n.t, "TIME"), "\n")
	return 2*number(n.t, seconds)*1_000_000 + 2*number(n.t, us)
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (n *quorumNode) fence() int64 { return number(n.t, n.server.MustDo(n.t, "GET", "F")) }

// A vote is for one id at a time; its repeat answers the same token, and another
// id is told who has it.
func TestQuorumScriptLock(t *testing.T) {
	n := startNode(t, redistest.Options{})
	p := n.now()
	first := n.expect("granted", n.lock(voterA, p))
	if got := number(t, first[1]); got != p {
		t.Errorf("token: got %d, want the one proposed, %d", got, p)
	}
	if got, want := n.fence(), p+63; got != want {
		t.Errorf("F: got %d, want %d", got, want)
	}
	if again := n.expect("granted", n.lock(voterA, p+1000)); again[1] != first[1] {
		t.Errorf("a repeat: got token %s, want %s", again[1], first[1])
	}
	held := n.expect("held", n.lock(voterB, p))
	if held[1] != voterA+":"+first[1] {
		t.Errorf("held by %s, want %s", held[1], voterA)
	}
	n.expect("not held", n.eval(script.QuorumUnlock, voterB))
	n.expect("released", n.eval(script.QuorumUnlock, voterA))
	n.expect("not held", n.eval(script.QuorumUnlock, voterA))
	second := n.expect("granted", n.lock(voterB, p))
	if got, want := number(t, second[1]), p+64; got != want {
		t.Errorf("token after a proposal that was given: got %d, want %d", got, want)
	}
}

// An id that is the beginning of another one's, or its owner's tail a number, is
// not taken for it.
func TestQuorumScriptComparesWholeIDs(t *testing.T) {
	n := startNode(t, redistest.Options{})
	n.expect("granted", n.lock(voterA+":5", n.now()))
	n.expect("held", n.lock(voterA, n.now()))
	n.expect("not held", n.eval(script.QuorumUnlock, voterA))
	n.expect("lost", n.eval(script.QuorumRenew, voterA, "1", quorumOfTests))
}

// A proposal is clamped into the node's second, and never refused.
func TestQuorumScriptClamps(t *testing.T) {
	n := startNode(t, redistest.Options{})
	for _, far := range []int64{0, n.now() - 3600*2_000_000, n.now() + 3600*2_000_000, 1 << 52} {
		n.server.MustDo(t, "DEL", "L", "F")
		before := n.now()
		got := number(t, n.expect("granted", n.lock(voterA, far))[1])
		after := n.now()
		if got < before-2_000_000 || got > after+2_000_000 {
			t.Errorf("proposal %d at %d: got token %d, want one within a second", far, before, got)
		}
	}
}

// raise reserves only where the lock key is still the very vote; a late one does nothing.
func TestQuorumScriptRaise(t *testing.T) {
	n := startNode(t, redistest.Options{})
	given := n.expect("granted", n.lock(voterA, n.now()))[1]
	higher := strconv.FormatInt(number(t, given)+1_000_000, 10)
	n.expect("lost", n.eval(script.QuorumRaise, voterB, given, higher))
	n.expect("lost", n.eval(script.QuorumRaise, voterA, higher, higher))
	if got, want := n.fence(), number(t, given)+63; got != want {
		t.Errorf("F after raises that do not fit: got %d, want %d", got, want)
	}
	for range 2 {
		n.expect("raised", n.eval(script.QuorumRaise, voterA, given, higher))
		if got, want := n.fence(), number(t, higher)+63; got != want {
			t.Errorf("F: got %d, want %d", got, want)
		}
	}
	n.expect("raised", n.eval(script.QuorumRaise, voterA, given, given))
	if got, want := n.fence(), number(t, higher)+63; got != want {
		t.Errorf("F after a lower raise: got %d, want %d: it never falls", got, want)
	}
	n.expect("released", n.eval(script.QuorumUnlock, voterA))
	n.expect("lost", n.eval(script.QuorumRaise, voterA, given, higher))
	if got := number(t, n.expect("granted", n.lock(voterB, 0))[1]); got <= number(t, higher)+63 {
		t.Errorf("token after a raise: got %d, want more than %s + 63", got, higher)
	}
}

// renew prolongs and never makes the lock key again; repair makes it, and takes it from
// nobody.
func TestQuorumScriptRenewRepair(t *testing.T) {
	n := startNode(t, redistest.Options{})
	token := n.expect("granted", n.lock(voterA, n.now()))[1]
	n.server.MustDo(t, "PEXPIRE", "L", 5000)
	n.expect("renewed", n.eval(script.QuorumRenew, voterA, token, quorumOfTests))
	if got := number(t, n.server.MustDo(t, "PTTL", "L")); got <= 5000 {
		t.Errorf("PTTL after renew: got %d, want the ttl", got)
	}
	n.server.MustDo(t, "DEL", "L", "F")
	if reply := n.expect("lost", n.eval(script.QuorumRenew, voterA, token, quorumOfTests)); reply[1] != "" {
		t.Errorf("lost to %q, want nobody", reply[1])
	}
	if got := n.server.MustDo(t, "EXISTS", "L"); got != "0" {
		t.Error("renew made the lock key again")
	}
	n.expect("repaired", n.eval(script.QuorumRepair, voterA, token, quorumOfTests))
	if got, want := n.server.MustDo(t, "GET", "L"), voterA+":"+token; got != want {
		t.Errorf("L after repair: got %q, want %q", got, want)
	}
	if got, want := n.fence(), number(t, token)+63; got != want {
		t.Errorf("F after repair: got %d, want %d", got, want)
	}
	n.expect("renewed", n.eval(script.QuorumRenew, voterA, token, quorumOfTests))
	n.expect("lost", n.eval(script.QuorumRepair, voterB, token, quorumOfTests))
}

// A node without the marker of this quorum takes part in nothing; releasing is
// always allowed.
func TestQuorumScriptMemberCheck(t *testing.T) {
	n := startNode(t, redistest.Options{})
	token := n.expect("granted", n.lock(voterA, n.now()))[1]
	for _, marker := range []string{"", "demo/2/3-0123456789", quorumOfTests + ">demo/2/3-0123456789", quorumOfTests + "0"} {
		if n.server.MustDo(t, "DEL", keyM); marker != "" {
			run, err := runOf(n.server)
			if err != nil {
				t.Fatal(err)
			}
			n.server.MustDo(t, "SET", keyM, run+":1:"+marker)
		}
		before := n.server.MustDo(t, "PTTL", "L")
		for _, reply := range [][]string{
			n.lock(voterB, n.now()),
			n.lock(voterA, n.now()),
			n.eval(script.QuorumRenew, voterA, token, quorumOfTests),
			n.eval(script.QuorumRepair, voterB, token, quorumOfTests),
		} {
			if n.expect("no member", reply); reply[1] != marker {
				t.Errorf("the node says that it bears %q, want %q", reply[1], marker)
			}
		}
		if after := n.server.MustDo(t, "PTTL", "L"); number(t, after) > number(t, before) {
			t.Errorf("the lock key was prolonged with marker %q", marker)
		}
	}
	n.expect("released", n.eval(script.QuorumUnlock, voterA))
}

// A node that was restarted, with its data, sits out a minute from when that is
// noticed, which is kept; meanwhile it may be renewed and repaired, but votes
// for nobody.
func TestQuorumScriptRestarted(t *testing.T) {
	n := startNode(t, redistest.Options{AOF: true, Config: []string{"appendfsync always"}})
	token := n.expect("granted", n.lock(voterA, n.now()))[1]
	if err := n.server.Restart(false); err != nil {
		t.Fatal(err)
	}
	n.store = clienttest.OpenStore(t, n.server.URL(), nil)
	n.expect("renewed", n.eval(script.QuorumRenew, voterA, token, quorumOfTests))
	reply := n.expect("no vote", n.lock(voterB, n.now()))
	if left := number(t, reply[1]); left < 50_000 || left > 60_000 {
		t.Errorf("no vote for %d ms, want about 60,000", left)
	}
	first := n.server.MustDo(t, "GET", keyM)
	n.expect("no vote", n.lock(voterA, n.now()))
	n.expect("renewed", n.eval(script.QuorumRenew, voterA, token, quorumOfTests))
	if got := n.server.MustDo(t, "GET", keyM); got != first {
		t.Errorf("marker: got %s, want %s: the minute does not begin again", got, first)
	}
	n.server.MustDo(t, "DEL", "L")
	n.expect("no vote", n.lock(voterB, n.now()))
	n.expect("repaired", n.eval(script.QuorumRepair, voterA, token, quorumOfTests))
}

// A node whose clock was ahead when it was restarted, and was set back, sits out a minute
// and not until it is as late as it was.
func TestQuorumScriptClockSetBack(t *testing.T) {
	n := startNode(t, redistest.Options{})
	run, rest, _ := strings.Cut(n.server.MustDo(t, "GET", keyM), ":")
	_, quorum, _ := strings.Cut(rest, ":")
	ahead := n.now()/2 + (2 * time.Hour).Microseconds()
	n.server.MustDo(t, "SET", keyM, fmt.Sprintf("%s:%d:%s", run, ahead, quorum))
	for range 2 {
		reply := n.expect("no vote", n.lock(voterA, n.now()))
		if left := number(t, reply[1]); left < 50_000 || left > 60_000 {
			t.Errorf("no vote for %d ms, want about 60,000", left)
		}
	}
	_, rest, _ = strings.Cut(n.server.MustDo(t, "GET", keyM), ":")
	till, _, _ := strings.Cut(rest, ":")
	if left := number(t, till) - n.now()/2; left > time.Minute.Microseconds() {
		t.Errorf("the marker says for %d us more, want a minute", left)
	}
}

// A node restarted without its data has no marker, and takes part in nothing.
func TestQuorumScriptRestartedEmpty(t *testing.T) {
	n := startNode(t, redistest.Options{})
	if err := n.server.Restart(true); err != nil {
		t.Fatal(err)
	}
	n.store = clienttest.OpenStore(t, n.server.URL(), nil)
	n.expect("no member", n.lock(voterA, n.now()))
	n.expect("no member", n.eval(script.QuorumRepair, voterA, "1", quorumOfTests))
}

// A mark replaces only what it may.
func TestQuorumScriptMark(t *testing.T) {
	n := startNode(t, redistest.Options{})
	before := n.server.MustDo(t, "GET", keyM)
	n.expect("marked", n.eval(script.QuorumMark, quorumOfTests, "60000", ""))
	if got := n.server.MustDo(t, "GET", keyM); got != before {
		t.Errorf("marked again: got %s, want it unchanged, %s", got, before)
	}
	n.expect("no member", n.eval(script.QuorumMark, "demo/2/3-0123456789", "0", "", "demo/9/3-0123456789"))
	n.expect("marked", n.eval(script.QuorumMark, "demo/2/3-0123456789", "0", quorumOfTests))
	n.server.MustDo(t, "SET", keyM, "junk")
	n.expect("no member", n.eval(script.QuorumMark, "demo/3/3-0123456789", "0", ""))
	n.expect("no member", n.lock(voterA, n.now()))
}

// A vote that would outlive the sitting out of a restarted node is refused.
func TestQuorumScriptLongestTTL(t *testing.T) {
	n := startNode(t, redistest.Options{})
	n.expect("granted", n.lock("c.n.60000|host", n.now()))
	n.expect("released", n.eval(script.QuorumUnlock, "c.n.60000|host"))
	if _, err := n.try(script.QuorumLock, "c.n.60001|host", "1", quorumOfTests); err == nil {
		t.Error("a ttl of 60,001 ms: got a vote, want an error")
	}
}

// What stands in the keys and is not ours is an error or held, before any write.
func TestQuorumScriptForeignKeys(t *testing.T) {
	n := startNode(t, redistest.Options{})
	n.server.MustDo(t, "SET", "L", "somebody's", "PX", 60000)
	n.expect("held", n.lock(voterA, n.now()))
	n.expect("not held", n.eval(script.QuorumUnlock, voterA))
	n.server.MustDo(t, "DEL", "L")
	n.server.MustDo(t, "SET", "F", "many")
	if _, err := n.try(script.QuorumLock, voterA, "1", quorumOfTests); err == nil || !strings.Contains(err.Error(), "fence key") {
		t.Errorf("F no number: got %v, want an error that names it", err)
	}
	if got := n.server.MustDo(t, "EXISTS", "L"); got != "0" {
		t.Error("the lock key was written before the fence key was read")
	}
}

// A key that another program made something else is not ours any more: nobody has the
// lock there, nothing is written, and giving it back is no error.
func TestQuorumScriptAnotherKindNow(t *testing.T) {
	n := startNode(t, redistest.Options{})
	token := n.expect("granted", n.lock(voterA, n.now()))[1]
	before := n.fence()
	for _, theirs := range [][]any{{"RPUSH", "L", "theirs"}, {"HSET", "L", "their", "data"}} {
		n.server.MustDo(t, "DEL", "L")
		n.server.MustDo(t, theirs...)
		for word, reply := range map[string][]string{
			"renew":  n.eval(script.QuorumRenew, voterA, token, quorumOfTests),
			"repair": n.eval(script.QuorumRepair, voterA, token, quorumOfTests),
			"raise":  n.eval(script.QuorumRaise, voterA, token, token),
		} {
			if n.expect("lost", reply); reply[1] != "" {
				t.Errorf("%s: lost to %q, want nobody", word, reply[1])
			}
		}
		if reply := n.expect("not held", n.eval(script.QuorumUnlock, voterA)); reply[1] != "" {
			t.Errorf("unlock: held by %q, want nobody", reply[1])
		}
		if _, err := n.try(script.QuorumLock, voterB, "1", quorumOfTests); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("lock: got %v, want WRONGTYPE", err)
		}
		if got := n.server.MustDo(t, "EXISTS", "L"); got != "1" || n.fence() != before {
			t.Errorf("L exists: %s, F: %d; want 1, %d: nothing is written", got, n.fence(), before)
		}
	}
}

// Full memory refuses new votes, and neither renewals nor releases.
func TestQuorumScriptFullMemory(t *testing.T) {
	n := startNode(t, redistest.Options{})
	token := n.expect("granted", n.lock(voterA, n.now()))[1]
	n.server.MustDo(t, "SET", "wanted", "", "PX", "60000")
	n.server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	n.expect("renewed", n.eval(script.QuorumRenew, voterA, token, quorumOfTests))
	for _, waits := range []string{"0", "100"} {
		if _, err := n.try(script.QuorumLock, voterB, "1", quorumOfTests, waits); err != nil {
			t.Errorf("a vote that is held, waits for %s ms: got %v, want held", waits, err)
		}
	}
	n.expect("not held", n.eval(script.QuorumUnlock, voterB, "50"))
	n.expect("released", n.eval(script.QuorumUnlock, voterA, "50"))
	if _, err := n.try(script.QuorumLock, voterB, "1", quorumOfTests); err == nil {
		t.Error("a new vote under full memory: got none, want a refusal")
	}
}

// A server that may not tell its run_id says that it can't be a node.
func TestQuorumScriptWithoutInfo(t *testing.T) {
	server := redistest.Start(t, redistest.Options{ACL: []string{"user app on >pw ~* &* +@all -info"}})
	url := "redis://app:pw@" + server.Addr()
	member := quorum.Member{Address: "here", Store: clienttest.OpenStore(t, url, nil)}
	node := quorum.Inspect(t.Context(), member)[0]
	if node.Err == nil || !strings.Contains(node.Err.Error(), "INFO server") {
		t.Errorf("got %v, want an error that names INFO server", node.Err)
	}
}

// keyM is the marker of a node.
const keyM = "holdfast/marker"

// runOf is the run_id of a server.
func runOf(s *redistest.Server) (string, error) {
	return s.Do("EVAL", "return redis.call('INFO','server'):match('run_id:(%x+)')", 0)
}
