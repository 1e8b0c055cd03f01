package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/quorum"
)

// master is a server with a marker and nothing else.
type master struct {
	driver.Store
	run     string
	mark    string // a quorum-id
	before  string // the run that was marked
	votes   time.Time
	down    error // the answer to every call
	dies    bool  // right after an answer to quorum/inspect
	cluster bool
	answer  []string // the answer to quorum/inspect, if it is not the true one
}

func (m *master) Sharded() bool { return m.cluster }

func (m *master) Eval(_ context.Context, call driver.Call) ([]string, error) {
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)
	switch {
	case m.down != nil:
		return nil, m.down
	case call.Script == script.QuorumInspect && m.answer != nil:
		return m.answer, nil
	case call.Script == script.QuorumInspect:
		if m.dies {
			m.down = errOff
		}
		return []string{"node", now, m.run, "90", "1", m.mark, m.before, strconv.FormatInt(m.votes.UnixMicro(), 10)}, nil
	case call.Script != script.QuorumMark:
		return nil, fmt.Errorf("the script %s is not for a node", call.Script.Name)
	}
	id, replaces := call.Args[0], call.Args[2:]
	wait, err := strconv.Atoi(call.Args[1])
	switch {
	case err != nil:
		return nil, err
	case m.mark == id:
	case slices.Contains(replaces, m.mark):
		m.mark, m.before, m.votes = id, m.run, time.Now().Add(time.Duration(wait)*time.Millisecond)
	default:
		return []string{"no member", m.mark, now, m.run}, nil
	}
	return []string{"marked", id, now, m.run}, nil
}

var errOff = errors.New("connection refused")

// masters returns n servers and the members that they are: a, b, c...
func masters(n int) ([]*master, []quorum.Member) {
	servers, members := make([]*master, n), make([]quorum.Member, n)
	for i := range n {
		name := string(rune('a' + i))
		servers[i] = &master{run: "run-" + name}
		members[i] = quorum.Member{Address: name + ":6379", Store: servers[i]}
	}
	return servers, members
}

// made is masters after an Init of the first three.
func made(t *testing.T, n int) (id string, servers []*master, members []quorum.Member) {
	t.Helper()
	servers, members = masters(n)
	id, err := quorum.Init(t.Context(), "orders", true, members[:3]...)
	if err != nil {
		t.Fatal(err)
	}
	return id, servers, members
}

// wantError wants an error that has all these words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want an error with %q", err, word)
		}
	}
}

func TestInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for atOnce, want := range map[bool]time.Duration{true: 0, false: holdfast.MaxQuorumTTL} {
			_, members := masters(3)
			id, err := quorum.Init(t.Context(), "orders", atOnce, members...)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := quorum.Init(t.Context(), "orders", atOnce, members[2], members[0], members[1]); again != id || err != nil {
				t.Errorf("again, in another order: got %q, %v, want %q", again, err, id)
			}
			if got := quorum.Size(id); got != 3 || !strings.HasPrefix(id, "orders/1/3-") {
				t.Errorf("got %q of size %d, want orders/1/3-...", id, got)
			}
			for _, node := range quorum.Inspect(t.Context(), members...) {
				if node.Err != nil || node.Quorum != id || node.VotesIn != want || node.Restarted || !node.Persistent || node.Uptime != 90*time.Second {
					t.Errorf("at once %v: got %+v, want a node of %s that votes in %v", atOnce, node, id, want)
				}
			}
		}
	})
}

func TestInitRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		name  string
		n     int
		spoil func(servers []*master, members []quorum.Member)
		want  string
	}{
		"an empty name":        {name: "", n: 3, want: "bad name"},
		"a name of two":        {name: "my orders", n: 3, want: "bad name"},
		"a long name":          {name: strings.Repeat("x", 65), n: 3, want: "bad name"},
		"one member":           {name: "orders", n: 1, want: "odd number"},
		"an even number":       {name: "orders", n: 4, want: "odd number"},
		"an address twice":     {name: "orders", n: 3, want: "a:6379 is given twice", spoil: func(_ []*master, m []quorum.Member) { m[2].Address = "a:6379" }},
		"a server twice":       {name: "orders", n: 3, want: "a:6379 and c:6379 are the same server", spoil: func(s []*master, _ []quorum.Member) { s[2].run = s[0].run }},
		"a Cluster":            {name: "orders", n: 3, want: "b:6379 is a Redis Cluster", spoil: func(s []*master, _ []quorum.Member) { s[1].cluster = true }},
		"no store":             {name: "orders", n: 3, want: "b:6379: can't be reached", spoil: func(_ []*master, m []quorum.Member) { m[1].Store = nil }},
		"a server that is off": {name: "orders", n: 3, want: "b:6379: connection refused", spoil: func(s []*master, _ []quorum.Member) { s[1].down = errOff }},
		"no right": {name: "orders", n: 3, want: "lacks a right", spoil: func(s []*master, _ []quorum.Member) {
			s[1].down = driver.ServerError("NOPERM No permissions to access a key")
		}},
		"another quorum":   {name: "orders", n: 3, want: "b:6379 is already a node of bills/1/3-0123456789", spoil: func(s []*master, _ []quorum.Member) { s[1].mark = "bills/1/3-0123456789" }},
		"a strange answer": {name: "orders", n: 3, want: "unexpected answer", spoil: func(s []*master, _ []quorum.Member) { s[1].answer = []string{"node"} }},
		"no number":        {name: "orders", n: 3, want: "unexpected answer", spoil: func(s []*master, _ []quorum.Member) { s[1].answer = []string{"node", "x", "r", "1", "1", "", "", "0"} }},
	} {
		servers, members := masters(test.n)
		if test.spoil != nil {
			test.spoil(servers, members)
		}
		id, err := quorum.Init(t.Context(), test.name, false, members...)
		if id != "" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %q, %v, want an error with %q", name, id, err, test.want)
		}
		for i, s := range servers {
			if i != 1 && s.mark != "" {
				t.Errorf("%s: server %d was marked %q", name, i, s.mark)
			}
		}
	}
}

// What a node says of itself, where it is not the usual.
func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id, servers, members := made(t, 5)
		servers[0].run = "run-later"                                                               // it was restarted
		servers[1].mark, servers[1].votes = id+">orders/2/3-0123456789", time.Now().Add(time.Hour) // a marker that is damaged or of another clock
		servers[2].down = errOff
		nodes := quorum.Inspect(t.Context(), members...)
		if n := nodes[0]; !n.Restarted || n.VotesIn != holdfast.MaxQuorumTTL || n.Quorum != id {
			t.Errorf("restarted: got %+v, want that it votes in %v", n, holdfast.MaxQuorumTTL)
		}
		if n := nodes[1]; n.Quorum != id || n.Successor != "orders/2/3-0123456789" || n.VotesIn != holdfast.MaxQuorumTTL {
			t.Errorf("replaced: got %+v, want %s with its successor, and no more than %v", n, id, holdfast.MaxQuorumTTL)
		}
		if n := nodes[2]; !errors.Is(n.Err, errOff) || n.Address != "c:6379" {
			t.Errorf("off: got %+v, want %v", n, errOff)
		}
		if n := nodes[3]; n.Err != nil || n.Quorum != "" || n.VotesIn != 0 || n.Restarted || n.Run != "run-d" {
			t.Errorf("of no quorum: got %+v", n)
		}
	})
}

func TestReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id, servers, m := made(t, 4)
		to := []quorum.Member{m[0], m[1], m[3]}
		next, err := quorum.Replace(t.Context(), m[:3], to)
		if err != nil {
			t.Fatal(err)
		}
		if next == id || !strings.HasPrefix(next, "orders/2/3-") {
			t.Errorf("got %q, want the next epoch of %q", next, id)
		}
		for _, n := range quorum.Inspect(t.Context(), to...) {
			if n.Quorum != next || n.Successor != "" || n.VotesIn != holdfast.MaxQuorumTTL {
				t.Errorf("got %+v, want a node of %s that votes in %v", n, next, holdfast.MaxQuorumTTL)
			}
		}
		if want := id + ">" + next; servers[2].mark != want {
			t.Errorf("the member that left has %q, want %q", servers[2].mark, want)
		}
		votes := servers[0].votes
		time.Sleep(time.Second)
		if again, err := quorum.Replace(t.Context(), m[:3], to); again != next || err != nil || !servers[0].votes.Equal(votes) {
			t.Errorf("again: got %q, %v, voting at %v, want %q and %v", again, err, servers[0].votes, next, votes)
		}
	})
}

// A member that is off keeps a replacement from being made, unless it is gone for good. If it
// comes back nevertheless, a repeated call tells it.
func TestReplaceWithAMemberGone(t *testing.T) {
	id, servers, m := made(t, 4)
	servers[2].down = errOff
	to := []quorum.Member{m[0], m[1], m[3]}
	_, err := quorum.Replace(t.Context(), m[:3], to)
	wantError(t, err, "c:6379 does not answer", "name it as gone", errOff.Error())
	if servers[0].mark != id || servers[3].mark != "" {
		t.Errorf("the error has changed the marks to %q and %q", servers[0].mark, servers[3].mark)
	}
	next, err := quorum.Replace(t.Context(), m[:3], to, "c:6379")
	if err != nil || servers[3].mark != next {
		t.Fatalf("gone: got %q, %v, and the new member has %q", next, err, servers[3].mark)
	}
	servers[2].down = nil
	if again, err := quorum.Replace(t.Context(), m[:3], to, "c:6379"); again != next || err != nil || servers[2].mark != id+">"+next {
		t.Errorf("again: got %q, %v, and the old member has %q", again, err, servers[2].mark)
	}
}

// It is the same if it is off a moment later, when the others have left.
func TestReplaceWhileAMemberDies(t *testing.T) {
	id, servers, m := made(t, 4)
	servers[2].dies = true
	to := []quorum.Member{m[0], m[1], m[3]}
	_, err := quorum.Replace(t.Context(), m[:3], to)
	wantError(t, err, "c:6379 does not answer", errOff.Error())
	if servers[3].mark != "" || !strings.HasPrefix(servers[0].mark, id+">") {
		t.Errorf("the new member has %q, an old one %q, want none and a successor", servers[3].mark, servers[0].mark)
	}
	servers[2].dies, servers[2].down = false, nil
	next, err := quorum.Replace(t.Context(), m[:3], to)
	if err != nil || servers[0].mark != next || servers[2].mark != id+">"+next || servers[3].mark != next {
		t.Errorf("again: got %q, %v, and the marks %q, %q and %q", next, err, servers[0].mark, servers[2].mark, servers[3].mark)
	}
}

func TestReplaceRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(servers []*master)
		from  []int
		want  string
	}{
		"an even number":              {from: []int{0, 1}, want: "odd number"},
		"members of no quorum":        {from: []int{3, 4, 5}, want: "belongs to a quorum"},
		"other members":               {from: []int{0, 1, 3}, want: "which has other members: name all 3"},
		"a damaged marker":            {from: []int{0, 1, 2}, want: "is not a quorum-id", spoil: func(s []*master) { s[0].mark = "?" }},
		"a new member of another one": {from: []int{0, 1, 2}, want: "d:6379 is a node of bills/1/3-0123456789", spoil: func(s []*master) { s[3].mark = "bills/1/3-0123456789" }},
		"a new member that is off":    {from: []int{0, 1, 2}, want: "d:6379: connection refused", spoil: func(s []*master) { s[3].down = errOff }},
		"a new member that is an old": {from: []int{0, 1, 2}, want: "are the same server", spoil: func(s []*master) { s[3].run = s[0].run }},
	} {
		id, servers, m := made(t, 6)
		if test.spoil != nil {
			test.spoil(servers)
		}
		var from []quorum.Member
		for _, i := range test.from {
			from = append(from, m[i])
		}
		next, err := quorum.Replace(t.Context(), from, []quorum.Member{m[0], m[1], m[3]})
		if next != "" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %q, %v, want an error with %q", name, next, err, test.want)
		}
		if servers[1].mark != id {
			t.Errorf("%s: a member has left for %q", name, servers[1].mark)
		}
	}
}

// Two old members that are one server are no majority of three.
func TestReplaceNeedsServersThatDiffer(t *testing.T) {
	_, servers, m := made(t, 6)
	servers[1].run, servers[2].down = servers[0].run, errOff
	_, err := quorum.Replace(t.Context(), m[:3], m[3:])
	wantError(t, err, "c:6379 does not answer")
	servers[2].down, servers[2].mark = nil, "" // it answers, and has lost its data
	_, err = quorum.Replace(t.Context(), m[:3], m[3:])
	wantError(t, err, "only 1 of the 3 old members", "2 are needed", "c:6379")
	if servers[3].mark != "" {
		t.Errorf("a new member was marked %q", servers[3].mark)
	}
}

// A member that has lost its data joins again. The others vote meanwhile.
func TestRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id, servers, m := made(t, 3)
		servers[1].mark, servers[1].run = "", "run-later"
		if got, err := quorum.Replace(t.Context(), m, m); got != id || err != nil {
			t.Fatalf("got %q, %v, want %q", got, err, id)
		}
		for i, n := range quorum.Inspect(t.Context(), m...) {
			want := time.Duration(0)
			if i == 1 {
				want = holdfast.MaxQuorumTTL
			}
			if n.Quorum != id || n.VotesIn != want {
				t.Errorf("got %+v, want a node of %s that votes in %v", n, id, want)
			}
		}
		servers[0].mark, servers[1].mark = "", ""
		_, err := quorum.Replace(t.Context(), m, m)
		wantError(t, err, "1 of 3 members have "+id, "a majority may have lost its data")
		if servers[0].mark != "" {
			t.Errorf("a member was marked %q without a majority", servers[0].mark)
		}
	})
}

func TestRejoinNeedsAll(t *testing.T) {
	_, servers, m := made(t, 3)
	servers[1].mark, servers[2].down = "", errOff
	_, err := quorum.Replace(t.Context(), m, m)
	wantError(t, err, "1 of 3 members")
	servers[1].mark = servers[0].mark
	_, err = quorum.Replace(t.Context(), m, m)
	wantError(t, err, "c:6379", errOff.Error())
}

// Inspect waits 5 s for a server that never answers, also if its driver does not return.
func TestInspectOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		free := make(chan struct{})
		nodes := quorum.Inspect(t.Context(), quorum.Member{Address: "a:6379", Store: silent{free: free}})
		if took := time.Since(began); nodes[0].Err == nil || took != 5*time.Second {
			t.Errorf("got %+v after %v, want an error after 5s", nodes[0], took)
		}
		close(free)
	})
}

type silent struct {
	driver.Store
	free chan struct{}
}

func (s silent) Eval(context.Context, driver.Call) ([]string, error) {
	<-s.free
	return nil, errOff
}

func TestSize(t *testing.T) {
	for id, want := range map[string]int{"orders/1/3-5f3a9c0d1e": 3, "orders/7/5-5f3a9c0d1e": 5, "orders/1/4-5f3a9c0d1e": 0, "orders": 0, "": 0} {
		if got := quorum.Size(id); got != want {
			t.Errorf("%q: got %d, want %d", id, got, want)
		}
	}
}
