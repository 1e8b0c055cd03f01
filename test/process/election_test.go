//go:build unix

package process_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// campaign is lock, by an election; the value is the process's owner.
func (c *child) campaign(o order, r *reply) {
	lease, err := c.client.Election(o.Name).Campaign(context.Background(), "")
	r.At = time.Now().UnixNano()
	r.said(err)
	if err != nil {
		return
	}
	r.Token = lease.Token()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases[o.Call] = lease
}

// multis are the leases of several names that this child holds, by call.
var multis sync.Map

func (c *child) multi(o order, r *reply) {
	if held, ok := multis.Load(o.Lease); ok && o.Do == "unmulti" {
		r.said(held.(*holdfast.MultiLease).Release())
		return
	}
	lease, err := c.client.Multi(o.Names...).Lock(context.Background())
	r.At = time.Now().UnixNano()
	r.said(err)
	multis.Store(o.Call, lease)
}

func (p *process) campaign(name string) call {
	p.t.Helper()
	return p.order(order{Do: "campaign", Name: name})
}

// monitored is what an observer of an election was told: values, "none", "error".
type monitored struct {
	mu    sync.Mutex
	lines []string
	terms []int64
}

// observing observes an election from this process until the test ends.
func observing(t *testing.T, server *redistest.Server, name string) *monitored {
	t.Helper()
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "observer"})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	w := &monitored{}
	go func() {
		defer close(over)
		for leader, err := range client.Election(name).Observe(ctx) {
			line := leader.Value
			if leader.None() {
				line = "none"
			}
			if err != nil {
				line = "error"
			}
			w.mu.Lock()
			w.lines, w.terms = append(w.lines, line), append(w.terms, leader.Term)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return w
}

// saw waits until the observer was told that, in that order and nothing else but
// for the same leader once more, when its term was known.
func (w *monitored) saw(t *testing.T, want ...string) {
	t.Helper()
	w.told(t, want, func(string) bool { return false })
}

// sawAmongErrors is saw where a busy machine may be told that the server is silent.
func (w *monitored) sawAmongErrors(t *testing.T, want ...string) {
	t.Helper()
	w.told(t, want, func(line string) bool { return line == "error" })
}

func (w *monitored) told(t *testing.T, want []string, without func(line string) bool) {
	t.Helper()
	read := func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Compact(slices.DeleteFunc(slices.Clone(w.lines), without))
	}
	for end := time.Now().Add(clienttest.Patience); time.Now().Before(end) && !slices.Equal(read(), want); time.Sleep(5 * time.Millisecond) {
		continue
	}
	if got := read(); !slices.Equal(got, want) {
		t.Fatalf("the observer was told %q, want %q", got, want)
	}
}

// The leader's process is killed. The next one leads when the ttl ends, in a
// higher term, and the observer is told of each change.
func TestProcessLeaderKilled(t *testing.T) {
	t.Parallel()
	const name, ttl = "leader-killed", 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C")
	a := processes[0].campaign(name)
	first := a.held()
	b := processes[1].campaign(name)
	clienttest.InQueue(t, server, name, "B")
	c := processes[2].campaign(name)
	clienttest.InQueue(t, server, name, "B", "C")
	w := observing(t, server, name)
	w.saw(t, "A")

	from := time.Now()
	left := clienttest.PTTL(t, server, name)
	processes[0].kill()
	second := b.held()
	if early := from.Add(left - time.Millisecond).Sub(time.Unix(0, second.At)); early > 0 {
		t.Errorf("B led %v before the term of A had ended", early)
	}
	rises(t, first, second)
	w.saw(t, "A", "B")
	b.release()
	rises(t, second, c.held())
	w.saw(t, "A", "B", "C")
	c.release()
	w.saw(t, "A", "B", "C", "none")
	clienttest.NothingLeftSoon(t, server, name)
}

// The leader's process is frozen for longer than its ttl. Another leads; when the
// first wakes up its first look says that it does not any more, and resigning late
// changes nothing for the other, nor for what observers are told.
func TestProcessLeaderFrozen(t *testing.T) {
	t.Parallel()
	const name, ttl = "leader-frozen", 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	a := processes[0].campaign(name)
	first := a.held()
	b := processes[1].campaign(name)
	clienttest.InQueue(t, server, name, "B")
	w := observing(t, server, name)
	w.saw(t, "A")

	a.about("watch")
	processes[0].freeze()
	second := b.held()
	rises(t, first, second)
	w.saw(t, "A", "B")
	processes[0].thaw()
	if end := a.lost("watched"); !end.Woke || end.Look == "" {
		t.Errorf("the first look after waking up: got nil, want ErrLost (%+v)", end)
	}
	a.lost("release")
	again := processes[0].campaign(name)
	clienttest.InQueue(t, server, name, "A")
	renewed(t, b)
	if got := clienttest.Holder(t, server, name); got != "B" || !again.pending() {
		t.Errorf("after the late resignation %q leads, want B", got)
	}
	w.saw(t, "A", "B")
	b.release()
	rises(t, second, again.held())
	w.saw(t, "A", "B", "A")
	again.release()
	w.saw(t, "A", "B", "A", "none")
	clienttest.NothingLeftSoon(t, server, name)
}

// An observer survives a restart of the server, and is told what came of it.
func TestObserverAndARestart(t *testing.T) {
	const name = "observer-restart"
	server := redistest.Start(t, redistest.Options{})
	w := observing(t, server, name)
	w.saw(t, "none")
	server.Kill()
	w.saw(t, "none", "error")
	if err := server.Restart(false); err != nil {
		t.Fatal(err)
	}
	w.sawAmongErrors(t, "none")
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A"})
	lease, err := client.Election(name).Campaign(t.Context(), "A")
	if err != nil {
		t.Fatal(err)
	}
	w.sawAmongErrors(t, "none", "A")
	clienttest.GiveBack(t, lease)
	w.sawAmongErrors(t, "none", "A", "none")
}

// A process that holds several names is killed, another is frozen while it waits
// with some in hand: those who want them in another order get them all.
func TestProcessMulti(t *testing.T) {
	const ttl = 2 * time.Second
	names := []string{"multi-a", "multi-b", "multi-c"}
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C")
	all := func(p *process, names []string) call {
		return p.order(order{Do: "multi", Names: names})
	}
	all(processes[0], names).held()
	b := all(processes[1], backwards)
	clienttest.InQueue(t, server, names[0], "B")
	c := all(processes[2], names)
	clienttest.InQueue(t, server, names[0], "B", "C")
	processes[0].kill()
	b.held()
	if !c.pending() {
		t.Fatalf("C: got %+v while B has the names, want no answer", c.wait())
	}
	for _, name := range names {
		if got := clienttest.Holder(t, server, name); got != "B" {
			t.Errorf("%s: held by %q, want B", name, got)
		}
	}
	processes[1].freeze()
	c.held()
	processes[1].thaw()
	if r := b.about("unmulti"); !r.Lost {
		t.Errorf("B: release after it was frozen: got %q, want ErrLost", r.Err)
	}
	for _, name := range names {
		if got := clienttest.Holder(t, server, name); got != "C" {
			t.Errorf("%s: held by %q after the late release, want C", name, got)
		}
	}
	if r := c.about("unmulti"); r.Err != "" {
		t.Errorf("C: release: got %s, want nil", r.Err)
	}
	clienttest.NothingLeftSoon(t, server, names...)
}
