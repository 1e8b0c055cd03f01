package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Wanted is what all callers of ManyWaiters ask for.
type Wanted string

// The wants.
const (
	WantMutex   Wanted = "mutex"
	WantOwner   Wanted = "owner" // Mutex.Owner
	WantTerm    Wanted = "term"
	WantWrite   Wanted = "write"
	WantPermits Wanted = "permits"
	WantRead    Wanted = "read" // but those that freeze, which want to write
)

// AllWanted are all of them.
var AllWanted = []Wanted{WantMutex, WantOwner, WantTerm, WantWrite, WantPermits, WantRead}

// ManyWaiters is many callers that want one name, in several processes of which some die or
// freeze while the network is calm.
type ManyWaiters struct {
	*World
	Want      Wanted
	TTL       time.Duration
	Processes int
	Clients   int           // of each process
	Callers   int           // of each Client
	Work      time.Duration // that each lease takes, at most
	Rest      time.Duration // between two calls of a caller, at most
	Dies      int           // processes that are killed when all wait; the holder's is among them
	Freezes   int           // processes that are frozen then, not the holder's
	Frozen    time.Duration // for so long
	Flush     bool          // the server loses all it has then
	Late      int           // processes that begin after that
	Runs      time.Duration // from then on

	Tamper func(Step, *Fate) // to prove that a run can fail; nil: nothing

	random *rand.Rand
	lost   []time.Time
}

// lockedSource is randomness for several goroutines.
type lockedSource struct {
	rand.Source
	mu sync.Mutex
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Source.Uint64()
}

const contendedName = "crowded"

// NewManyWaiters draws one.
func NewManyWaiters(seed uint64, want Wanted) *ManyWaiters {
	r := rand.New(&lockedSource{Source: rand.NewPCG(seed, 0xc0)})
	c := &ManyWaiters{
		World: NewWorld(seed), Want: want, TTL: time.Duration(2+r.IntN(4)) * time.Second,
		Processes: 2 + r.IntN(4), Clients: 1 + r.IntN(10), Callers: 1 + r.IntN(3),
		Work: time.Duration(1+r.IntN(20)) * time.Millisecond, Rest: time.Duration(r.IntN(20_000)) * time.Millisecond,
		Frozen: time.Duration(5+r.IntN(20)) * time.Second, Late: 1, Runs: 25 * time.Second, random: r,
	}
	switch r.IntN(3) {
	case 0:
		c.Dies = 1 + r.IntN(c.Processes-1)
	case 1:
		c.Freezes = 1
		c.Clients = min(c.Clients, 3)
	case 2:
		c.Flush = want == WantMutex // what else loses its holders at once is stated in docs/shared.md
		c.Dies = map[bool]int{false: 1}[c.Flush]
	}
	if want == WantRead { // they overlap, so that there is always one
		c.Dies, c.Freezes, c.Clients, c.Callers, c.Work, c.Rest = 0, 1, 1+r.IntN(3), 1+r.IntN(2), time.Second, 200*time.Millisecond
	}
	return c
}

// Run plays it and returns the longest idle time. Call it once.
func (c *ManyWaiters) Run() time.Duration {
	c.SetNetwork(func(step Step) Fate {
		some := func(d time.Duration) time.Duration { return 1 + time.Duration(c.random.Int64N(int64(d))) }
		f := Fate{Out: some(2 * time.Millisecond), Back: some(2 * time.Millisecond), Home: some(time.Microsecond)}
		if c.Tamper != nil {
			c.Tamper(step, &f)
		}
		return f
	})
	ctx, stop := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	var processes [][]*Link
	begin := func(callersEach int) {
		var links []*Link
		for k := range c.Clients {
			l := c.Process(fmt.Sprintf("p%d.%d", len(processes), k), holdfast.Options{TTL: c.TTL, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
			links = append(links, l)
			freezes := len(processes) >= c.Dies && len(processes) < c.Dies+c.Freezes
			for range callersEach {
				own := rand.New(rand.NewPCG(c.random.Uint64(), 1))
				callers.Go(func() { c.live(ctx, l, c.Want == WantRead && freezes, own) })
			}
		}
		processes = append(processes, links)
	}
	holder := c.Process("holder", holdfast.Options{TTL: c.TTL, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
	held, lease, err := c.lock(ctx, holder, true)
	if err != nil {
		c.Watch.Broken("the holder: %v", err)
	}
	for range c.Processes {
		begin(c.Callers)
		time.Sleep(time.Duration(c.random.Int64N(int64(300 * time.Millisecond))))
	}
	time.Sleep(time.Second)
	c.befall(holder, processes)
	if !holder.Dead() && err == nil {
		c.Watch.Leaves(held)
		_ = lease.Release()
	}
	time.Sleep(time.Duration(c.random.Int64N(int64(time.Second))))
	for range c.Late {
		begin(c.Callers)
	}
	time.Sleep(c.Runs)
	longest := c.Watch.Waits(c.TTL, c.lost...)
	stop()
	callers.Wait()
	return longest
}

// befall lets happen what does while all wait.
func (c *ManyWaiters) befall(holder *Link, processes [][]*Link) {
	if c.Dies > 0 {
		holder.Kill()
	}
	for i, links := range processes {
		for _, l := range links {
			switch {
			case i < c.Dies:
				l.Kill()
			case i < c.Dies+c.Freezes:
				c.moving.Go(func() { l.Pause(c.Frozen) })
			}
		}
	}
	if c.Flush {
		c.lost = append(c.lost, time.Now())
		c.Atomically(func() {
			c.Watch.forgotten()
			c.Do("FLUSHALL")
		})
	}
	time.Sleep(20 * time.Millisecond)
}

// live asks again and again until ctx ends.
func (c *ManyWaiters) live(ctx context.Context, l *Link, whole bool, r *rand.Rand) {
	for ctx.Err() == nil {
		held, lease, err := c.lock(ctx, l, whole)
		if err != nil {
			return
		}
		l.world.sleep(1 + time.Duration(r.Int64N(int64(c.Work))))
		if !l.awake(ctx.Done()) || l.Dead() {
			return
		}
		c.Watch.Leaves(held)
		_ = lease.Release()
		Sleep(time.Duration(r.Int64N(int64(c.Rest)+1)), ctx.Done())
	}
}

// lock asks for what all want, or for all that there is.
func (c *ManyWaiters) lock(ctx context.Context, l *Link, whole bool) (*Held, *holdfast.Lease, error) {
	var h *Held
	ask := func() (*holdfast.Lease, error) { return l.Client.Mutex(contendedName).Lock(ctx) }
	switch part := (Part{}); c.Want {
	case WantMutex, WantOwner, WantTerm:
		h = c.Watch.Called(l, contendedName)
		c.Atomically(func() { h.own = c.Want != WantMutex })
		if c.Want == WantOwner {
			m := l.Client.Mutex(contendedName)
			m.Owner = "job"
			ask = func() (*holdfast.Lease, error) { return m.Lock(ctx) }
		}
		if c.Want == WantTerm {
			ask = func() (*holdfast.Lease, error) { return l.Client.Election(contendedName).Campaign(ctx, l.Owner) }
		}
	default:
		part.Write = whole || c.Want == WantWrite
		if c.Want == WantPermits {
			part = Part{Size: 2, N: map[bool]int{false: 1, true: 2}[whole]}
		}
		h = c.Watch.CalledFor(l, contendedName, part)
		ask = func() (*holdfast.Lease, error) { return part.Lock(ctx, l, contendedName, false) }
	}
	lease, err := ask()
	if err != nil {
		c.Watch.Leaves(h)
		return h, nil, err
	}
	c.Watch.Granted(h, lease)
	return h, lease, nil
}
