package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

// Prefix of all names in a World.
const Prefix = "sim:"

// World is one server, the network, and the processes that lock names. Close
// it before the bubble ends. Its replicas stand in harness_replica_test.go.
type World struct {
	Watch Watch
	Tally *Tally                 // of this World alone
	Log   Log                    // what happened, for comparison with other versions
	Bug   func(call driver.Call) // called when a call ran twice, to prove that runs can fail; nil: nothing

	began  time.Time
	server *embedded.Store
	over   chan struct{}
	moving sync.WaitGroup // what is on its way

	sharded bool         // it looks like a Cluster
	rate    float64      // of the server's clock
	stepped atomic.Int64 // nanoseconds by which it was put back

	mu       sync.Mutex
	network  func(Step) Fate
	random   *rand.Rand
	links    []*Link
	down     bool // the server does not take connections
	closed   bool // nothing begins to travel any more
	masters  int  // failovers
	replicas []*replica
	trace    []event
}

// NewWorld makes one whose chances come from seed.
func NewWorld(seed uint64) *World {
	w := &World{
		Tally:  &Tally{},
		began:  time.Now(),
		over:   make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, 0x401d)),
		rate:   1,
	}
	w.network = func(Step) Fate { return Fate{} }
	w.Watch = Watch{world: w, names: map[string]*watched{}, ids: map[string]string{}, gone: map[string]time.Time{}, grants: map[string]bool{}}
	store, err := embedded.Open(&embedded.Options{Now: w.serverTime})
	if err != nil {
		panic("sim: " + err.Error())
	}
	w.server = store
	return w
}

// Close ends all clients, the network and the server.
func (w *World) Close() {
	for _, l := range w.links {
		l.hush(false)
		if l.Client != nil {
			_ = l.Client.Close()
		}
	}
	close(w.over)
	for _, l := range w.links {
		l.cut()
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.moving.Wait()
	_ = w.server.Close()
}

// serverTime is read by the server for one command at a time.
func (w *World) serverTime() time.Time {
	return w.began.Add(time.Duration(float64(time.Since(w.began))*w.rate) - time.Duration(w.stepped.Load()))
}

// Process adds a process with a client of its own. rate is that of its clock.
func (w *World) Process(owner string, options holdfast.Options, rate float64) *Link {
	l := &Link{world: w, number: len(w.links), Owner: owner, TTL: options.TTL, rate: rate, seen: map[string]int{}, subs: map[*subscription]struct{}{}}
	l.random = rand.New(rand.NewPCG(w.random.Uint64(), uint64(l.number)))
	options.Prefix, options.Owner = Prefix, owner
	w.links = append(w.links, l)
	l.Client = holdfast.New(l, &options)
	return l
}

// SetNetwork says what decides from now on what becomes of each step. It is
// called by one goroutine at a time, like f of Atomically.
func (w *World) SetNetwork(network func(Step) Fate) { w.Atomically(func() { w.network = network }) }

// Atomically runs f while no step is decided.
func (w *World) Atomically(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// Do runs a command on the server, past the network.
func (w *World) Do(args ...string) any {
	reply, err := w.server.Do(args...)
	if err != nil {
		panic(fmt.Sprintf("sim: %v: %v", args, err))
	}
	return reply
}

// Keys are the lock key, the fence and the queue of a name.
func Keys(name string) (lock, fence, queue string) {
	l := Prefix + name
	return l, "holdfast/fence:{" + l + "}", "holdfast/queue:{" + l + "}"
}

// StepBack puts the server's clock back, by a negative d forward.
func (w *World) StepBack(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stepped.Add(int64(d))
	w.note("the server's clock steps back by %v", d)
}

// SetRate sets how fast the server's clock runs; before anything else.
func (w *World) SetRate(rate float64) { w.rate = rate }

// Shard makes the server look like a Cluster; before anything else.
func (w *World) Shard() { w.sharded = true }

// Look checks what the holders of a name believe at this moment.
func (w *World) Look(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Watch.check(name)
}

// Restart stops the server for a while; empty: it comes back without data.
func (w *World) Restart(empty bool, after time.Duration) {
	w.mu.Lock()
	w.down = true
	w.note("the server stops, empty=%v", empty)
	if empty {
		w.Watch.forgotten()
		w.Do("FLUSHALL")
	}
	links := w.links
	w.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
	time.Sleep(after)
	w.mu.Lock()
	w.down = false
	w.note("the server is back")
	w.mu.Unlock()
}

// Evict deletes a name's lock key as an eviction or a hand would.
func (w *World) Evict(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note("L of %s is deleted", name)
	w.Watch.forgottenName(name)
	lock, _, _ := Keys(name)
	w.Do("DEL", lock)
}

// event is one line of the history, formatted only when a run fails.
type event struct {
	at   time.Duration
	what string
	args []any
}

// note adds to the history. The mutex is held.
func (w *World) note(what string, args ...any) {
	w.trace = append(w.trace, event{time.Since(w.began), what, args})
}

// History returns the newest steps, at most n.
func (w *World) History(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var text strings.Builder
	for _, e := range w.trace[max(0, len(w.trace)-n):] {
		text.WriteString(fmt.Sprintf("%12v  ", e.at) + fmt.Sprintf(e.what, e.args...) + "\n")
	}
	return text.String()
}

// sleep lets time pass; false: the World is over.
func (w *World) sleep(d time.Duration) bool { return Sleep(d, w.over) }

// run lets the server run a call, alone, and looks at what it did.
func (w *World) run(l *Link, call driver.Call) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, errDown
	}
	if call.Script.Name == "replicas" { // the server inside has none
		return []string{strconv.Itoa(len(w.replicas))}, nil
	}
	if call.Script.Name == "once_inspect" { // it speaks of no id, and changes nothing
		return w.server.Eval(context.Background(), call)
	}
	if w.sharded {
		call.Script = plain(call.Script)
	}
	calls := each(call)
	for _, call := range calls {
		w.Watch.before(call)
	}
	reply, err := w.server.Eval(context.Background(), call)
	w.Log.Ran(time.Since(w.began), l.Owner, call.Script.Name, call.Keys, call.Args, reply, err)
	w.note("%s: %s %s -> %v %v", l.Owner, call.Script.Name, brief(about(call)), briefs(reply), err)
	for i, call := range calls {
		w.Watch.after(call, answerTo(calls, i, reply))
	}
	return reply, err
}
