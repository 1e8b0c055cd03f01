//go:build unix

package process_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// 8 processes with 8 callers each count to 20,000 in a plain file. It proves
// mutual exclusion, tokens that rise in the order of holding, the order of
// service (L1), and that nothing is left behind.
func TestProcessesExcludeEachOther(t *testing.T) {
	const name = "counter"
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 0, "A", "B", "C", "D", "E", "F", "G", "H")
	warm(t, server, name, processes)
	l := newLoad(t, name, 8, 20_000)
	work(t, l, processes, 4*clienttest.Patience)
	checkOrder(t, l.check(t, len(processes)), len(processes))
	clienttest.NothingLeft(t, server, name)
}

// warm lets every process wait in the queue once, so that their subscriptions are
// up: whoever leaves the name from now on while it has callers is queued again
// by the very same script.
func warm(t *testing.T, server *redistest.Server, name string, processes []*process) {
	t.Helper()
	calls := contend(t, server, name, processes)
	calls = append(calls, processes[0].lock(name)) // before the rest if it came before the first knew that they wait
	for len(calls) > 0 {
		var i int
		clienttest.Eventually(t, "one of them gets the name", func() bool {
			i = slices.IndexFunc(calls, func(c call) bool { return !c.pending() })
			return i >= 0
		})
		calls[i].held()
		calls[i].release()
		calls = slices.Delete(calls, i, i+1)
	}
}

// work lets all processes have their part in a load.
func work(t *testing.T, l load, processes []*process, limit time.Duration) {
	t.Helper()
	finish(t, begin(l, processes), limit)
}

func begin(l load, processes []*process) []call {
	calls := make([]call, len(processes))
	for i, p := range processes {
		p.t.Helper()
		calls[i] = p.order(order{Do: "load", Load: l.of(i)})
	}
	return calls
}

// finish wants no error to have reached a caller.
func finish(t *testing.T, calls []call, limit time.Duration) {
	t.Helper()
	for _, c := range calls {
		if r := c.within(limit); r.Err != "" {
			t.Errorf("%s: got %s, want no error", c.p.owner, r.Err)
		}
	}
}

// visit is the turns that a process had in a row, from and to included. While
// others wait in the queue it is a tenure.
type visit struct {
	process  int
	from, to int
	again    int  // the process's next visit; -1: none
	requeued bool // see checkOrder
}

// checkOrder proves promise L1: a caller is overtaken by at most the callers in
// line at the processes before its own. The times of different processes are
// not compared; what is proved follows from what each process knows of itself:
//
// A process is *requeued* at the end of a visit if callers waited in its queue
// while the last of the visit held. The unlock has put it at the tail of the queue then,
// and it stays there until it is granted. So
//   - between the two visits no other process has more than one: whoever was
//     granted stands behind it now. (For two processes that are both requeued
//     that is: exactly one each in turn.)
//   - a visit during which some other process was requeued was recalled with
//     its grant: nobody there has two turns in it.
//   - a caller that waited in the queue by the end of a visit is served in the next:
//     since its last turn, no caller of another process has had more than one
//     turn, no caller of its own more than two.
//
// Within a process, a caller that waited in the queue before another called Lock is
// served before it: if n callers stood there at a turn, they have the n turns
// that follow.
//
// What waited in the queue in a disturbed span of time proves nothing.
func checkOrder(t *testing.T, order []turn, processes int, disturbed ...span) {
	t.Helper()
	visits := visitsOf(order, processes)
	for i, v := range visits {
		if v.requeued && slices.ContainsFunc(disturbed, func(s span) bool {
			return order[v.from].Got <= s.end && order[visits[v.again].to].Got >= s.begin
		}) {
			visits[i].requeued = false
		}
	}
	checkRounds(t, visits)
	recalled := checkTenures(t, order, visits)
	checkOvertaking(t, order, visits, recalled)
	checkLines(t, order)
}

// span is a time by the wall clock, in ns.
type span struct{ begin, end int64 }

func visitsOf(order []turn, processes int) []visit {
	var visits []visit
	last := slices.Repeat([]int{-1}, processes)
	for i, u := range order {
		if n := len(visits); n > 0 && visits[n-1].process == u.Process {
			visits[n-1].to = i
			continue
		}
		if before := last[u.Process]; before >= 0 {
			v := &visits[before]
			v.again = len(visits)
			v.requeued = order[v.to].Waiting > 0
		}
		last[u.Process] = len(visits)
		visits = append(visits, visit{process: u.Process, from: i, to: i, again: -1})
	}
	return visits
}

// check is one rule, looked at in many places.
type check struct {
	t       *testing.T
	rule    string
	checked int
	broken  int
}

// errorf reports the first few places where the rule is broken.
func (c *check) errorf(format string, args ...any) {
	c.t.Helper()
	if c.broken++; c.broken <= 5 {
		c.t.Errorf(c.rule+": "+format, args...)
	}
}

// end makes sure that the check has not become an empty one.
func (c *check) end(of int) {
	c.t.Helper()
	c.t.Logf("%s: checked %d of %d, %d broken", c.rule, c.checked, of, c.broken)
	if c.checked < of/4 {
		c.t.Errorf("%s: could check %d of %d only", c.rule, c.checked, of)
	}
}

// checkRounds: between two visits of a requeued process no other has two.
func checkRounds(t *testing.T, visits []visit) {
	t.Helper()
	c := check{t: t, rule: "rounds"}
	for i, v := range visits {
		if !v.requeued {
			continue
		}
		c.checked++
		seen := map[int]bool{}
		for _, w := range visits[i+1 : v.again] {
			if seen[w.process] {
				c.errorf("turns %d to %d: process %d waited in the queue and process %d was served twice before it",
					v.to, visits[v.again].from, v.process, w.process)
			}
			seen[w.process] = true
		}
	}
	c.end(len(visits))
}

// checkTenures: nobody has two turns in a tenure that was recalled with its
// grant. It returns which visits those are.
func checkTenures(t *testing.T, order []turn, visits []visit) []bool {
	t.Helper()
	recalled := make([]bool, len(visits))
	for i, v := range visits {
		if v.requeued {
			for j := i + 1; j < v.again; j++ {
				recalled[j] = true
			}
		}
	}
	c := check{t: t, rule: "tenures"}
	for i, v := range visits {
		if !recalled[i] {
			continue
		}
		c.checked++
		if twice := repeated(order[v.from : v.to+1]); twice != nil {
			c.errorf("turns %d to %d: %s was served twice while another process waited in the queue", v.from, v.to, twice)
		}
	}
	c.end(len(visits))
	return recalled
}

func (u turn) String() string { return fmt.Sprintf("caller %d/%d", u.Process, u.Caller) }

// repeated returns a turn whose caller had one before.
func repeated(turns []turn) fmt.Stringer {
	seen := map[int]bool{}
	for _, u := range turns {
		if seen[u.Caller] {
			return u
		}
		seen[u.Caller] = true
	}
	return nil
}

// checkOvertaking: from one turn of a caller to its next, if it waited in the queue by
// the end of the visit, nobody else is served more often than the rule says.
func checkOvertaking(t *testing.T, order []turn, visits []visit, recalled []bool) {
	t.Helper()
	c := check{t: t, rule: "overtaking"}
	for i, v := range visits {
		if !v.requeued || !recalled[i] {
			continue
		}
		stood := following(order, v.to, order[v.to].Waiting)
		for from := v.from; from <= v.to; from++ {
			i := slices.IndexFunc(stood, func(to int) bool { return order[to].Caller == order[from].Caller })
			if i < 0 {
				continue // it came later
			}
			c.checked++
			if last := visits[v.again].to; stood[i] > last {
				c.errorf("turn %d: %s waited in the queue at turn %d and was not served by the end of its process's next visit, turn %d",
					from, order[from], v.to, last)
			}
			overtaken(&c, order, from, stood[i])
		}
	}
	c.end(len(order))
}

func overtaken(c *check, order []turn, from, to int) {
	c.t.Helper()
	served := map[[2]int]int{}
	for _, u := range order[from+1 : to] {
		most := 1
		if u.Process == order[from].Process {
			most = 2
		}
		who := [2]int{u.Process, u.Caller}
		if served[who]++; served[who] > most {
			c.errorf("turns %d to %d of %s: %s was served %d times in between, want at most %d",
				from, to, order[from], u, served[who], most)
		}
	}
}

// checkLines: within a process first come, first served.
func checkLines(t *testing.T, order []turn) {
	t.Helper()
	c := check{t: t, rule: "lines"}
	for i, u := range order {
		for _, j := range following(order, i, u.Waiting) {
			c.checked++
			if order[j].Called > u.Looked {
				c.errorf("turn %d: %s called Lock after turn %d, and was served before one of the %d that waited in the queue then",
					j, order[j], i, u.Waiting)
			}
		}
	}
	c.end(len(order))
}

// following are the next n turns of the process that has turn i.
func following(order []turn, i, n int) []int {
	var turns []int
	for j := i + 1; j < len(order) && len(turns) < n; j++ {
		if order[j].Process == order[i].Process {
			turns = append(turns, j)
		}
	}
	return turns
}
