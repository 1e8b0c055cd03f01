package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/test/sim"
)

// republic is a quorum in simulated time: nodes with clocks of their own, the
// network, and the processes that lock names.
type republic struct {
	t      testing.TB
	began  time.Time
	over   chan struct{}
	moving sync.WaitGroup

	mu      sync.Mutex
	random  *rand.Rand
	fate    func(w way) passage // of each request; nil: a perfect network
	nodes   []*citizen
	parties []*party
	leases  map[string][]*belief // those not given back
	tokens  map[string]int64     // newest of each name
	wins    int
	tries   int // votes asked for
	ttl     time.Duration
	leapt   time.Time // when a node's clock last jumped forward
	trace   []string
	broken  []string
	scripts map[string]*driver.Script
	plan    *sim.Plan
	tally   *sim.Tally
	tape    sim.Log
}

// citizen is one node.
type citizen struct {
	number int
	store  *embedded.Store
	run    string
	ahead  time.Duration // its clock
	rate   float64
	jumped atomic.Int64 // nanoseconds that it jumped ahead
	down   bool
	frozen chan struct{} // closed when it thaws; nil: it is not frozen
}

// way is one request on its way.
type way struct {
	party, node int
	kind        string
	args        []string
}

// passage is what becomes of it.
type passage struct {
	out, back, home   time.Duration // home: until a caller whose time is up has gone
	loseOut, loseBack bool
	again             time.Duration // it arrives once more, that much later
	reset             bool          // what is lost is told
	twice             bool          // it runs twice
	torn              bool          // the connection is cut in the middle of the answer
	refuse            driver.ServerError
}

// fate is the same as of a step on one master.
func (f passage) fate() sim.Fate {
	return sim.Fate{Out: f.out, Back: f.back, LoseOut: f.loseOut, LoseBack: f.loseBack, Reset: f.reset, Twice: f.twice, Torn: f.torn, Again: f.again, Refuse: f.refuse}
}

// ordinary tells that nothing is wrong with it.
func (f passage) ordinary() bool {
	words := f.fate().Words()
	return len(words) == 1 && words[0] == sim.CallFates[0]
}

// party is a process.
type party struct {
	r      *republic
	number int
	client *holdfast.QuorumClient
	rate   float64
	slept  atomic.Int64 // nanoseconds that its machine was suspended, as it sees it
	mute   bool         // nothing that it sends arrives
	deaf   bool         // nothing that is sent to it does
}

// belief is a lease that somebody was given.
type belief struct {
	lease *holdfast.Lease
	party int
}

func newRepublic(t testing.TB, seed uint64, n int) *republic {
	r := &republic{
		t: t, began: time.Now(), over: make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, 0x90)),
		leases: map[string][]*belief{}, tokens: map[string]int64{},
		scripts: map[string]*driver.Script{},
		plan:    sim.NewPlan(nil), tally: &sim.Tally{},
	}
	for range n {
		r.found()
	}
	return r
}

// found adds a node.
func (r *republic) found() *citizen {
	n := &citizen{number: len(r.nodes), rate: 1}
	n.restart(r.random)
	store, err := embedded.Open(&embedded.Options{Now: func() time.Time {
		return r.began.Add(n.ahead + time.Duration(n.jumped.Load()) + time.Duration(float64(time.Since(r.began))*n.rate))
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	n.store = store
	r.nodes = append(r.nodes, n)
	return n
}

func (n *citizen) restart(random *rand.Rand) { n.run = fmt.Sprintf("%016x", random.Uint64()) }

// close ends it and tells what was broken.
func (r *republic) close() {
	r.end()
	for _, b := range r.broken[:min(len(r.broken), 8)] {
		r.t.Error(b)
	}
	if len(r.broken) > 0 {
		r.t.Log(strings.Join(r.trace[max(0, len(r.trace)-120):], "\n"))
	}
}

func (r *republic) end() {
	for _, p := range r.parties {
		_ = p.client.Close()
	}
	r.mu.Lock()
	close(r.over) // nothing sets out any more, also what a Client that has closed goes on with
	r.mu.Unlock()
	for _, n := range r.nodes {
		r.thaw(n)
	}
	r.moving.Wait()
	for _, n := range r.nodes {
		_ = n.store.Close()
	}
}

// members are the nodes, past the network.
func (r *republic) members(numbers ...int) (members []quorum.Member) {
	for _, i := range numbers {
		members = append(members, quorum.Member{Address: fmt.Sprint("node", i), Store: &road{r: r, node: r.nodes[i]}})
	}
	return members
}

// init makes a quorum of nodes that may vote at once.
func (r *republic) init(numbers ...int) string {
	id, err := quorum.Init(r.t.Context(), "sim", true, r.members(numbers...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *republic) join(id string, ttl time.Duration, rate float64, numbers ...int) *party {
	p := &party{r: r, number: len(r.parties), rate: rate}
	r.ttl = max(r.ttl, ttl)
	var stores []driver.Store
	for _, i := range numbers {
		stores = append(stores, &road{r: r, party: p, node: r.nodes[i]})
	}
	p.client = holdfast.NewQuorum(id, &holdfast.QuorumOptions{
		Prefix: "sim:", Owner: fmt.Sprint("p", p.number), TTL: ttl, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, stores...)
	r.parties = append(r.parties, p)
	return p
}

// road is the way of one process to one node: a Store.
type road struct {
	r     *republic
	party *party // nil: the operator's, which is perfect
	node  *citizen
}

// Seam lends the process its clock and chances.
func (d *road) Seam() clock.Seam {
	chance := rand.New(rand.NewPCG(d.r.random.Uint64(), uint64(d.party.number)))
	return clock.Seam{
		Now: func() time.Duration {
			return time.Duration(float64(time.Since(d.r.began))*d.party.rate) + time.Duration(d.party.slept.Load())
		},
		Random: chance.Uint64,
	}
}

var (
	errDown  = errors.New("connection refused")
	errReset = errors.New("connection reset")
)

func (d *road) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := d.r
	if d.party == nil {
		return r.run(d.node, call)
	}
	r.mu.Lock()
	var f passage
	if r.fate != nil {
		f = r.fate(way{d.party.number, d.node.number, call.Script.Name, call.Args})
	}
	r.tally.Step(call.Script.Name, f.fate().Words())
	r.tape.Sent(time.Since(r.began), fmt.Sprint("p", d.party.number), call.Script.Name, call.Args)
	if call.Script.Name == "quorum_lock" {
		r.tries++
	}
	r.mu.Unlock()
	type outcome struct {
		reply []string
		err   error
	}
	came := make(chan outcome, 1)
	r.set(func() {
		lost := func() {
			if f.reset {
				came <- outcome{err: errReset}
			}
		}
		if !r.sleep(f.out) || f.loseOut || d.lost(true) {
			lost()
			return
		}
		r.await(d.node)
		if f.refuse != "" {
			came <- outcome{err: f.refuse}
			return
		}
		reply, err := r.run(d.node, call)
		if f.twice {
			reply, err = r.run(d.node, call)
		}
		r.note("p%d %s on node%d %v -> %v %v", d.party.number, call.Script.Name, d.node.number, short(call.Args), short(reply), err)
		if f.again > 0 {
			r.moving.Go(func() {
				if r.sleep(f.again) {
					r.await(d.node)
					reply, err := r.run(d.node, call)
					r.note("p%d %s AGAIN on node%d %v -> %v %v", d.party.number, call.Script.Name, d.node.number, short(call.Args), short(reply), err)
				}
			})
		}
		if !r.sleep(f.back) || f.loseBack || d.lost(false) {
			lost()
			return
		}
		r.await(d.node)
		if f.torn {
			reply, err = nil, io.ErrUnexpectedEOF
		}
		came <- outcome{reply, err}
	})
	select {
	case o := <-came:
		return o.reply, o.err
	case <-ctx.Done():
		// Attempts of one instant end at one instant, and timers of one instant
		// fire in any order.
		r.sleep(f.home)
		return nil, ctx.Err()
	}
}

// set sends something on its way, unless all is over.
func (r *republic) set(travel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.over:
	default:
		r.moving.Go(travel)
	}
}

// lost reports whether nothing comes from the process at present, or to it.
func (d *road) lost(out bool) bool {
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	return out && d.party.mute || !out && d.party.deaf
}

// EvalAll sends the calls one by one.
func (d *road) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = d.Eval(ctx, call)
	}
	return results
}

// EvalWait is for WaitReplicas, which a quorum refuses.
func (d *road) EvalWait(context.Context, []driver.Call, int, time.Duration) ([]driver.Result, int, error) {
	return nil, 0, errors.New("nobody waits for replicas on a quorum")
}

func (d *road) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, errors.New("nobody subscribes on a quorum")
}

func (d *road) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return d.node.store.Scan(ctx, match)
}

func (d *road) Sharded() bool { return false }

// run lets a node run a script, with the run_id that the node has now.
func (r *republic) run(n *citizen, call driver.Call) ([]string, error) {
	r.mu.Lock()
	down, run := n.down, n.run
	r.mu.Unlock()
	if down {
		return nil, errDown
	}
	reply, err := n.store.Eval(context.Background(), driver.Call{Script: r.told(call.Script, run), Keys: call.Keys, Args: call.Args})
	r.tape.Ran(time.Since(r.began), fmt.Sprint("node", n.number), call.Script.Name, call.Keys, call.Args, reply, err)
	return reply, err
}

// told is a script that takes run for the run_id of its server.
func (r *republic) told(s *driver.Script, run string) *driver.Script {
	const asks = "redis.pcall('INFO', 'server')"
	r.mu.Lock()
	defer r.mu.Unlock()
	key := s.Name + run
	if r.scripts[key] == nil {
		r.scripts[key] = driver.NewScript(s.Name, strings.Replace(s.Source, asks, "'run_id:"+run+"'", 1))
	}
	return r.scripts[key]
}

func (r *republic) await(n *citizen) {
	r.mu.Lock()
	frozen := n.frozen
	r.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

func (r *republic) freeze(n *citizen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.frozen == nil {
		n.frozen = make(chan struct{})
		r.log("node%d is frozen", n.number)
	}
}

func (r *republic) thaw(n *citizen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.frozen != nil {
		close(n.frozen)
		n.frozen = nil
		r.log("node%d is thawed", n.number)
	}
}

// setDown makes nodes refuse what they are asked, or no longer.
func (r *republic) setDown(down bool, nodes ...int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range nodes {
		r.nodes[i].down = down
	}
}

// bounce restarts a node, down for a while; forgetful: all but its marker is
// lost, the worst that the tail of an append-only file can be.
func (r *republic) bounce(n *citizen, down time.Duration, forgetful bool) {
	r.mu.Lock()
	n.down = true
	r.log("node%d goes down, forgetful=%v", n.number, forgetful)
	r.mu.Unlock()
	if forgetful {
		keep, _ := n.store.Do("GET", "holdfast/marker")
		n.do(r.t, "FLUSHALL")
		if text, ok := keep.(string); ok {
			n.do(r.t, "SET", "holdfast/marker", text)
		}
	}
	r.sleep(down)
	r.mu.Lock()
	n.restart(r.random)
	n.down = false
	r.log("node%d is back", n.number)
	r.mu.Unlock()
}

func (n *citizen) do(t testing.TB, args ...string) any {
	reply, err := n.store.Do(args...)
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return reply
}

func (r *republic) sleep(d time.Duration) bool { return sim.Sleep(d, r.over) }

func (r *republic) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log(format, args...)
}

// log adds to the history. The mutex is held.
func (r *republic) log(format string, args ...any) {
	r.trace = append(r.trace, fmt.Sprintf("%12v ", time.Since(r.began))+fmt.Sprintf(format, args...))
	if len(r.trace) > 4000 {
		r.trace = r.trace[2000:]
	}
}

// short cuts ids down to owner and nonce.
func short(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if part := strings.SplitN(a, ".", 3); len(part) == 3 && len(part[1]) > 4 {
			_, owner, _ := strings.Cut(part[2], "|")
			a = owner + "/" + part[1][:4]
		}
		out[i] = a
	}
	return out
}
