package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Kind is what a story is about.
type Kind int

// A seed's story is of the kind seed modulo Kinds.
const (
	Calm   Kind = iota // delays only: order is checked, too
	Lossy              // answers and messages are lost, late, doubled, out of order
	Faults             // the server is restarted, loses keys, refuses
	Wild               // all that, and processes fall silent or die, and clocks drift
	Kinds
)

// Story is one random run.
type Story struct {
	*World
	kind    Kind
	names   []string
	ttls    []time.Duration // one per process
	killed  bool
	copies  int  // replicas, all of which must acknowledge
	shared  bool // its names are of the shared kinds
	several bool // callers also ask for all its names at once
	orders  ordering

	// Guarded by the World's mutex.
	chances map[int]*rand.Rand // of each process's network
	ghosts  bool               // a late duplicate may have left one
	calm    bool               // from now on the network is
}

// NewStory makes the run of a seed: processes, names, clocks, network.
func NewStory(seed uint64) *Story {
	s := &Story{World: NewWorld(seed), kind: Kind(seed % uint64(Kinds)), chances: map[int]*rand.Rand{}}
	r := s.random
	if s.kind == Wild {
		s.rate = 1 + (r.Float64()-0.5)*0.008
	}
	s.network = func(step Step) Fate {
		r := s.chances[step.Process]
		if r == nil {
			r = rand.New(rand.NewPCG(seed, uint64(step.Process)+100))
			s.chances[step.Process] = r
		}
		return s.fate(step, r)
	}
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
		s.ttls = append(s.ttls, ttl)
		s.Process(fmt.Sprintf("p%d", i), options, rate)
	}
	return s
}

// Run plays the story and returns what broke.
func (s *Story) Run() []string {
	var callers sync.WaitGroup
	for _, l := range s.links {
		for range 1 + s.random.IntN(3) {
			c := &caller{story: s, link: l, random: rand.New(rand.NewPCG(s.random.Uint64(), 1))}
			callers.Go(c.run)
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
	switch {
	case s.kind != Calm || s.orders.on || s.several:
	case !s.shared:
		s.Watch.order()
	case s.copies == 0: // else tokens come with the confirmation, whose order is another
		s.Watch.orderShared()
	}
	return s.Watch.Violations()
}

// settle checks that nothing is left behind: L2.
func (s *Story) settle() {
	s.orders.given.Wait()
	s.mu.Lock()
	s.calm = true
	ghosts := s.ghosts
	s.mu.Unlock()
	longest := time.Duration(0)
	for _, ttl := range s.ttls {
		longest = max(longest, ttl)
	}
	wait := 9 * time.Second // an attempt may take 3 s, and one to mend a connection 5
	if s.killed {
		wait += longest
	}
	time.Sleep(wait)
	if !ghosts && !s.killed {
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

func (s *Story) nothingLeft(by string) {
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
func (s *Story) trouble(r *rand.Rand, stop <-chan struct{}) {
	putBack := r.IntN(2) == 0 // a server that loses data must not also have a clock that was put back
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(r.Int64N(int64(3 * time.Second)))):
		}
		l := s.links[r.IntN(len(s.links))]
		switch n := r.IntN(12); {
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
		case n <= 5:
			l.cut()
		case n == 6 && s.kind == Wild && !s.killed:
			s.killed = true
			l.Kill()
		case n <= 9 && s.kind == Wild:
			l.Silence(time.Duration(r.Int64N(int64(20 * time.Second))))
		}
	}
}

// failovers freeze a replica for a while, and may lose the master meanwhile, or
// then.
func (s *Story) failovers(r *rand.Rand, stop <-chan struct{}) {
	some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
	for {
		select {
		case <-stop:
			return
		case <-time.After(some(2 * time.Second)):
		}
		i := r.IntN(s.copies)
		s.Freeze(i)
		time.Sleep(some(time.Second))
		if r.IntN(2) == 0 {
			lost := s.Failover(i, some(3*time.Second))
			s.Guard(func() { s.ghosts = s.ghosts || lost })
		}
		time.Sleep(some(time.Second))
		s.Thaw(i)
	}
}

var refusals = []holdfast.ServerError{"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
	"OOM command not allowed when used memory > 'maxmemory'.", "TRYAGAIN Multiple keys request during rehashing of slot", "BUSY Redis is busy running a script."}

// fate is the network of the story.
func (s *Story) fate(step Step, r *rand.Rand) Fate {
	some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
	f := Fate{Out: some(2 * time.Millisecond), Back: some(2 * time.Millisecond)}
	if s.kind == Calm || s.calm {
		return f
	}
	if s.kind >= Faults && r.IntN(15) == 0 && step.Kind != "subscribe" && !step.Push {
		f.Refuse = refusals[r.IntN(len(refusals))]
	}
	if s.kind == Faults {
		return f
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
		s.ghosts = s.ghosts || step.Kind == "lock" || step.Kind == "unlock" || step.Kind == "shared_lock" || step.Kind == multiLock
	case 4:
		f.Out = some(500 * time.Millisecond)
	case 5:
		f.Back = some(500 * time.Millisecond)
	case 6:
		f.Overtake = true
	}
	return f
}

// caller asks for names again and again.
type caller struct {
	story  *Story
	link   *Link
	random *rand.Rand
}

func (c *caller) some(d time.Duration) time.Duration {
	return 1 + time.Duration(c.random.Int64N(int64(d)))
}

func (c *caller) run() {
	for range 2 + c.random.IntN(4) {
		time.Sleep(c.some(30 * time.Millisecond))
		c.once(c.story.names[c.random.IntN(len(c.story.names))])
		if c.link.Dead() {
			return
		}
	}
}

func (c *caller) once(name string) {
	if c.story.shared {
		c.onceShared(name)
		return
	}
	if c.story.several && c.random.IntN(2) == 0 {
		c.onceSeveral()
		return
	}
	mutex := c.link.Client.Mutex(name)
	ctx := context.Background()
	h := c.story.Watch.Called(c.link, name)
	var lease *holdfast.Lease
	var err error
	switch n := c.random.IntN(10); {
	case n == 0:
		lease, err = mutex.TryLock(ctx)
	case n <= 2:
		limited, cancel := context.WithTimeout(ctx, c.some(50*time.Millisecond))
		lease, err = mutex.Lock(limited)
		cancel()
	default:
		lease, err = mutex.Lock(ctx)
	}
	if err != nil {
		c.story.Watch.Leaves(h)
		c.refused(err)
		return
	}
	c.story.Watch.Granted(h, lease)
	c.hold(h, lease)
}

// refused checks that an error is one of those that are promised.
func (c *caller) refused(err error) {
	for _, want := range []error{holdfast.ErrHeld, holdfast.ErrUnreachable, holdfast.ErrTooSlow, context.DeadlineExceeded} {
		if errors.Is(err, want) {
			return
		}
	}
	if !c.link.Dead() && (c.story.copies == 0 || !errors.Is(err, holdfast.ErrReplicas)) {
		c.story.Watch.Broken("Lock says %v", err)
	}
}

// hold works under a lease and checks that a loss is known: S3.
func (c *caller) hold(h *Held, lease *holdfast.Lease) {
	if c.story.orders.on && c.meddle(h, lease) {
		return
	}
	work := c.some(10 * time.Millisecond)
	if c.random.IntN(6) == 0 {
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
				c.story.Watch.Broken("S3: the lease of %s is over, its context not 250 ms later", h.name)
			}
		}
	case <-ctx.Done():
		if err := lease.Err(); !errors.Is(err, holdfast.ErrLost) || !errors.Is(context.Cause(ctx), holdfast.ErrLost) {
			c.story.Watch.Broken("S3: a context ended with %v, its lease says %v", context.Cause(ctx), err)
		}
		time.Sleep(c.some(20 * time.Millisecond)) // work that is stopping
	}
	c.story.Watch.Leaves(h)
	before := lease.Err()
	err := lease.Release()
	ok := err == nil && before == nil || errors.Is(err, holdfast.ErrLost) || before == nil && errors.Is(err, holdfast.ErrUnknown)
	if !ok && !c.link.Dead() {
		c.story.Watch.Broken("Release of %s says %v, the lease before it %v", h.name, err, before)
	}
}
