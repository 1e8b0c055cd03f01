package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// Kind is what a run is about.
type Kind int

// A seed's run is of the kind seed modulo Kinds.
const (
	Calm   Kind = iota // delays only: order is checked, too
	Lossy              // answers and messages are lost, late, doubled, out of order
	Faults             // the server is restarted, loses keys, refuses
	Wild               // all that, and processes fall silent or die, and clocks drift
	Kinds
)

// Run is one random run. Its shared kinds stand in harness_shared_test.go.
type Run struct {
	*World
	kind    Kind
	plan    *Plan
	seed    uint64
	names   []string
	ttls    []time.Duration // one per process
	killed  bool
	copies  int  // replicas, all of which must acknowledge
	shared  bool // its names are of the shared kinds
	several bool // callers also ask for all its names at once
	orders  ordering
	mixed   bool // every primitive takes part

	// Protected by the World's mutex.
	staleIDs bool    // a late duplicate may have left one
	calm     bool    // from now on the network is
	runs     []*Held // of the job, since the newest that does not count
}

// NewRun makes the run of a seed: processes, names, clocks, network.
func NewRun(seed uint64, plan *Plan) *Run {
	s := &Run{World: NewWorld(seed), kind: Kind(seed % uint64(Kinds)), plan: plan, seed: seed}
	r := s.random
	if s.kind == Wild {
		s.rate = 1 + (r.Float64()-0.5)*0.008
	}
	s.network = s.fate
	for i := range 1 + r.IntN(2) {
		s.names = append(s.names, fmt.Sprintf("n%d", i))
	}
	if seed/uint64(Kinds)%4 == 3 {
		s.copies = 1 + int(seed/(4*uint64(Kinds))%2)
		s.Replicate(s.copies)
	}
	ttls := []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second}
	for i := range 2 + r.IntN(3) {
		rate := 1.0
		if s.kind == Wild {
			rate = 1 + (r.Float64()-0.5)*0.008
		}
		ttl := ttls[r.IntN(len(ttls))]
		if s.kind == Calm && ttl < time.Second {
			ttl = time.Second
		}
		options := holdfast.Options{TTL: ttl, WaitReplicas: s.copies, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		if s.kind != Calm && r.IntN(4) == 0 {
			options.Linger = time.Duration(r.IntN(500)+1) * time.Millisecond
		}
		if seed/uint64(Kinds)%3 == 1 && i%2 == 1 { // beside Clients with the default
			options.TokenMemory = holdfast.MinTokenMemory
		}
		options.OnEvent = s.reported
		s.ttls = append(s.ttls, ttl)
		s.Process(fmt.Sprintf("p%d", i), options, rate)
	}
	return s
}

// Play plays the run and returns what broke.
func (s *Run) Play() []string {
	var callers sync.WaitGroup
	for _, l := range s.links {
		for k := range 1 + s.random.IntN(3) {
			c := &caller{run: s, link: l, label: fmt.Sprintf("%s.%d", l.Owner, k), seed: s.random.Uint64()}
			if s.plan.May("process", l.Owner) {
				callers.Go(c.calls)
			}
		}
	}
	var troubles sync.WaitGroup
	stop := make(chan struct{})
	if s.kind >= Faults {
		r := rand.New(rand.NewPCG(s.random.Uint64(), 2))
		troubles.Go(func() { s.trouble(r, stop) })
	}
	if s.kind != Calm && s.copies > 0 {
		r := rand.New(rand.NewPCG(s.random.Uint64(), 3))
		troubles.Go(func() { s.failovers(r, stop) })
	}
	done := make(chan struct{})
	go func() { callers.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Minute):
		s.Watch.Broken("L1: callers still wait after half an hour")
	}
	close(stop)
	troubles.Wait()
	s.settle()
	s.checkOrder()
	s.Tally.Runs++
	return s.Watch.Violations()
}

// checkOrder checks how long callers waited, and behind whom: L1.
func (s *Run) checkOrder() {
	switch {
	case s.kind != Calm || s.orders.on || s.several || s.mixed:
	case !s.shared:
		s.Watch.order()
		s.Watch.Waits(slices.Max(s.ttls))
	case s.copies == 0: // else tokens come with the confirmation, whose order is another
		orderShared(&s.Watch)
		s.Watch.Waits(slices.Max(s.ttls))
	}
}

// settle checks that nothing is left behind: L2.
func (s *Run) settle() {
	s.orders.given.Wait()
	s.mu.Lock()
	s.calm = true
	staleIDs := s.staleIDs
	s.mu.Unlock()
	longest := time.Duration(0)
	for _, ttl := range s.ttls {
		longest = max(longest, ttl)
	}
	wait := 9 * time.Second // an attempt may take 3 s, and one to mend a connection 5
	if s.killed {
		wait += longest
	}
	wait += max(0, time.Duration(s.stepped.Load())) // where the clock was put back, what ends by itself ends later
	time.Sleep(wait)
	if !staleIDs && !s.killed {
		s.nothingLeft("the living")
	}
	// Whoever comes now gets each name soon, whatever was left.
	probe := s.Process("probe", holdfast.Options{TTL: time.Second}, 1)
	for _, name := range s.names {
		ctx, cancel := context.WithTimeout(context.Background(), longest+10*time.Second)
		lease, err := s.probe(ctx, probe, name)
		cancel()
		if err != nil {
			s.Watch.Broken("L1: %s can't be had at the end: %v", name, err)
			continue
		}
		if err := lease.Release(); err != nil {
			s.Watch.Broken("L2: releasing %s at the end: %v", name, err)
		}
	}
	time.Sleep(5 * time.Second)
	s.nothingLeft("anybody")
}

func (s *Run) nothingLeft(by string) {
	for _, name := range s.names {
		lock, _, queue := Keys(name)
		if s.Do("EXISTS", lock) != int64(0) {
			s.Watch.Broken("L2: L of %s is left behind by %s: %s", name, by, s.heldBy(name))
		}
		if n, _ := s.Do("ZCARD", queue).(int64); n > 0 {
			s.Watch.Broken("L2: %d waiters of %s are left behind by %s: %v", n, name, by, s.Do("ZRANGE", queue, "0", "-1"))
		}
	}
}

// trouble happens to the server and the processes until stop.
func (s *Run) trouble(r *rand.Rand, stop <-chan struct{}) {
	putBack := r.IntN(2) == 0 // a server that loses data must not also have a clock that was put back
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(r.Int64N(int64(3 * time.Second)))):
		}
		l := s.links[r.IntN(len(s.links))]
		n := r.IntN(14)
		class := troubles[n]
		if n == 0 && putBack {
			class = "clock put back"
		}
		if s.kind != Wild && n >= 6 || n == 6 && s.killed || !s.plan.May(class, fmt.Sprint("t", i)) {
			continue
		}
		s.Tally.Fault(class)
		some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
		switch {
		case n == 0 && !putBack:
			s.Restart(true, 1100*time.Millisecond+time.Duration(r.Int64N(int64(3*time.Second))))
		case n == 0:
			s.StepBack(time.Duration(r.Int64N(int64(10 * time.Second))))
		case n == 1:
			s.Restart(false, time.Duration(r.Int64N(int64(3*time.Second))))
		case n == 2:
			s.evict(s.names[r.IntN(len(s.names))], r)
		case n == 3:
			s.Do("SCRIPT", "FLUSH")
		case n == 4:
			l.cut()
		case n == 5:
			l.Sever()
		case n == 6:
			s.killed = true
			l.Kill()
		case n <= 8:
			l.Silence(some(20 * time.Second))
		case n <= 10:
			l.OneWay(n == 9, some(20*time.Second))
		case n == 11:
			l.Deafen()
		default:
			l.Pause(some(10 * time.Second))
		}
	}
}

// troubles are the classes of what happens, by their chance.
var troubles = []string{"server emptied", "server restarted", "key deleted", "scripts flushed", "subscriptions cut", "connections cut",
	"killed", "silence", "silence", "nothing out", "nothing in", "half-open", "paused", "paused"}

// failovers freeze a replica for a while, and may lose the master meanwhile, or
// then.
func (s *Run) failovers(r *rand.Rand, stop <-chan struct{}) {
	some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(some(2 * time.Second)):
		}
		i := r.IntN(s.copies)
		if !s.plan.May("replica frozen", fmt.Sprint("f", n)) {
			continue
		}
		s.Tally.Fault("replica frozen")
		s.Freeze(i)
		time.Sleep(some(time.Second))
		if r.IntN(2) == 0 && s.plan.May("failover", fmt.Sprint("f", n)) {
			s.Tally.Fault("failover")
			lost := s.Failover(i, some(3*time.Second))
			s.Atomically(func() { s.staleIDs = s.staleIDs || lost })
		}
		time.Sleep(some(time.Second))
		s.Thaw(i)
	}
}

var refusals = []driver.ServerError{"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
	"OOM command not allowed when used memory > 'maxmemory'.", "TRYAGAIN Multiple keys request during rehashing of slot", "BUSY Redis is busy running a script."}

// fate is the network of the run. The chances of a step are its own, so that
// they stay the same in a run that is smaller.
func (s *Run) fate(step Step) Fate {
	where := fmt.Sprint(step.where(), ".", step.OfID)
	h := fnv.New64a()
	_, _ = h.Write([]byte(where))
	r := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	plain, f := s.drawn(step, r)
	words := f.words(step.Push)
	if words[0] == onTime {
		return plain
	}
	if !s.plan.May(words[0], where) {
		return plain
	}
	if f.Again > 0 && !step.Push {
		s.staleIDs = s.staleIDs || step.Kind == "lock" || step.Kind == "unlock" || step.Kind == "cooldown" || step.Kind == "adopt" || step.Kind == "take" || step.Kind == "shared_lock" || step.Kind == multiLock || step.Kind == lockBatch
	}
	return f
}

// drawn is what chance says of a step, and what it is without any fault.
func (s *Run) drawn(step Step, r *rand.Rand) (plain, f Fate) {
	some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
	f = Fate{Out: some(2 * time.Millisecond), Back: some(2 * time.Millisecond), Home: some(time.Microsecond)}
	plain = f
	if s.kind == Calm || s.calm {
		return plain, f
	}
	if s.kind >= Faults && r.IntN(15) == 0 && step.Kind != "subscribe" && !step.Push {
		f.Refuse = refusals[r.IntN(len(refusals))]
	}
	if s.kind == Faults {
		return plain, f
	}
	switch r.IntN(20) {
	case 0:
		f.LoseOut, f.Reset = true, r.IntN(2) == 0
	case 1:
		f.LoseBack, f.Reset = true, r.IntN(2) == 0
	case 2:
		f.Twice = true
	case 3:
		f.Again = some(5 * time.Second)
	case 4:
		f.Out = some(500 * time.Millisecond)
	case 5:
		f.Back = some(500 * time.Millisecond)
	case 6:
		f.Overtake = true
	case 7:
		f.Torn = true
	}
	return plain, f
}

// caller asks for names again and again.
// What it does in mixed runs stands in harness_mixed_test.go.
type caller struct {
	run    *Run
	link   *Link
	label  string // its process and number
	at     string // that, and the number of the call
	seed   uint64
	random *rand.Rand // of the call that it is at
}

func (c *caller) some(d time.Duration) time.Duration {
	return 1 + time.Duration(c.random.Int64N(int64(d)))
}

func (c *caller) calls() {
	c.random = rand.New(rand.NewPCG(c.seed, 1))
	for i := range 2 + c.random.IntN(4) {
		c.random, c.at = rand.New(rand.NewPCG(c.seed, uint64(i)+2)), fmt.Sprint(c.label, ".", i)
		time.Sleep(c.some(30 * time.Millisecond))
		if !c.run.plan.May("call", c.at) {
			continue
		}
		c.once(c.run.names[c.random.IntN(len(c.run.names))])
		if c.link.Dead() {
			return
		}
	}
}

func (c *caller) once(name string) {
	if c.run.mixed {
		c.onceMixed(name)
		return
	}
	if isShared(name) {
		onceShared(c, name)
		return
	}
	if c.run.several && c.random.IntN(2) == 0 {
		c.onceSeveral()
		return
	}
	c.onceMutex(name)
}

func (c *caller) onceMutex(name string) {
	mutex := c.link.Client.Mutex(name)
	if c.run.mixed {
		c.bounds(mutex)
	}
	ctx := context.Background()
	h := c.run.Watch.Called(c.link, name)
	h.stays = mutex.MinHold > 0
	var lease *holdfast.Lease
	var err error
	switch n := c.random.IntN(10); {
	case n == 0:
		lease, err = mutex.TryLock(ctx)
		c.did("TryLock", err)
	case n <= 2:
		limited, cancel := context.WithTimeout(ctx, c.some(50*time.Millisecond))
		lease, err = mutex.Lock(limited)
		deadline, _ := limited.Deadline()
		c.run.Watch.noOutage(h, deadline, err)
		cancel()
	default:
		lease, err = mutex.Lock(ctx)
	}
	c.did("Lock", err)
	if err != nil {
		c.run.Watch.Leaves(h)
		c.refused(err)
		return
	}
	c.run.Watch.Granted(h, lease)
	c.hold(h, lease)
}

// refused checks that an error is one of those that are promised.
func (c *caller) refused(err error) {
	for _, want := range []error{holdfast.ErrHeld, holdfast.ErrUnreachable, holdfast.ErrTooSlow, context.DeadlineExceeded} {
		if errors.Is(err, want) {
			return
		}
	}
	if !c.link.Dead() && (c.run.copies == 0 || !errors.Is(err, holdfast.ErrReplicas)) {
		c.run.Watch.Broken("Lock says %v", err)
	}
}

// hold works under a lease and checks that a loss is known: S3.
func (c *caller) hold(h *Held, lease *holdfast.Lease) {
	if c.run.orders.on && meddle(c, h, lease) {
		return
	}
	if c.run.mixed && !isShared(h.name) && c.random.IntN(2) == 0 {
		c.write(h, lease)
	}
	work := c.some(10 * time.Millisecond)
	if c.random.IntN(6) == 0 && c.run.plan.May("long hold", c.at) {
		work = c.some(3 * c.link.TTL)
	}
	ctx := lease.Context(context.Background())
	over := time.NewTimer(work)
	defer over.Stop()
	select {
	case <-over.C:
		if lease.Err() != nil {
			select {
			case <-ctx.Done():
			case <-time.After(250 * time.Millisecond):
				c.run.Watch.Broken("S3: the lease of %s is over, its context not 250 ms later", h.name)
			}
		}
	case <-ctx.Done():
		if err := lease.Err(); !errors.Is(err, holdfast.ErrLost) || !errors.Is(context.Cause(ctx), holdfast.ErrLost) {
			c.run.Watch.Broken("S3: a context ended with %v, its lease says %v", context.Cause(ctx), err)
		}
		time.Sleep(c.some(20 * time.Millisecond)) // work that is stopping
	}
	c.run.Watch.Leaves(h)
	before := lease.Err()
	err := lease.Release()
	c.did("Release", err)
	ok := err == nil && before == nil || errors.Is(err, holdfast.ErrLost) || before == nil && errors.Is(err, holdfast.ErrUnknown)
	if !ok && !c.link.Dead() {
		c.run.Watch.Broken("Release of %s says %v, the lease before it %v", h.name, err, before)
	}
}

// reported counts what a client says of itself.
func (s *Run) reported(e holdfast.Event) {
	what := strings.TrimPrefix(fmt.Sprintf("%T", e), "holdfast.")
	switch e := e.(type) {
	case holdfast.Lost:
		what += ", " + string(e.Cause)
	case holdfast.Queued:
		what += map[bool]string{true: ", head", false: ", behind"}[e.Position == 0]
	}
	s.Tally.State(what)
}

// Several makes a run of three names in which callers also ask for all of them.
func (s *Run) Several() {
	s.several, s.names = true, []string{"n0", "n1", "n2"}
}

// Order makes a run in which holders are also asked to stop, stolen from, and
// give their leases to one another.
func (s *Run) Order() { s.orders.on = true }
