package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Part is what a call asks for of a lock of a shared kind: N permits of a
// semaphore of Size, or with Size 0 a reader's or a writer's part of an RWMutex.
type Part struct {
	Size, N int
	Write   bool
}

// kind is its name in words.
func (p Part) kind() string {
	switch {
	case p.Size > 0:
		return "Acquire"
	case p.Write:
		return "write Lock"
	}
	return "RLock"
}

// weighs are its weight and the capacity, as the watch counts them.
func (p Part) weighs() (weight, capacity int64) {
	switch {
	case p.Size > 0:
		return int64(p.N), int64(p.Size)
	case p.Write:
		return 1 << 30, 1 << 30
	}
	return 1, 1 << 30
}

// Lock asks for it.
func (p Part) Lock(ctx context.Context, l *Link, name string, try bool) (*holdfast.Lease, error) {
	sem, rw := (*holdfast.Semaphore)(nil), l.Client.RWMutex(name)
	if p.Size > 0 {
		sem = l.Client.Semaphore(name, p.Size)
	}
	switch {
	case sem != nil && try:
		return sem.TryAcquire(ctx, p.N)
	case sem != nil:
		return sem.Acquire(ctx, p.N)
	case p.Write && try:
		return rw.TryLock(ctx)
	case p.Write:
		return rw.Lock(ctx)
	case try:
		return rw.TryRLock(ctx)
	}
	return rw.RLock(ctx)
}

// Light is added to the end of the time of who weighs 1; see docs/shared.md.
const Light = 1 << 52

// KeyH is the key of a name's holders.
func KeyH(name string) string { return "holdfast/holders:{" + Prefix + name + "}" }

// KeySize is the key of a semaphore's size.
func KeySize(name string) string { return "holdfast/size:{" + Prefix + name + "}" }

// rises: who holds alone has a token above all before it, and whoever comes after
// that one above its.
func (n *watched) rises(h *Held, token int64) bool {
	weight, capacity := h.part.weighs()
	if weight == capacity {
		n.exclusive = max(n.exclusive, token)
		return token > *n.before(token)
	}
	return token <= n.limit || token > n.exclusive
}

// checkShared is check of a shared kind: together the holders never have more
// than the capacity, and each stands in the holders key for longer than it believes.
func checkShared(w *Watch, name string, n *watched) {
	var used int64
	who := ""
	for _, h := range n.leases {
		if h.Process.paused() || h.Lease.Err() != nil {
			continue
		}
		if h.Lease.Token() <= n.limit { // it was lost with the server's data
			if inHolders(w, name, h) != "" {
				continue // a late duplicate has made it anew
			}
			if left := time.Since(n.lost); left > h.Process.TTL*102/100 {
				w.broken("S3: %s still believes in %s %v after it was lost", h.Process.Owner, name, left)
			}
			continue
		}
		weight := h.weighs()
		used += weight
		who += fmt.Sprintf(" %s (token %d, weight %d)", h.Process.Owner, h.Lease.Token(), weight)
		compareShared(w, name, h)
	}
	if used > n.capacity {
		w.broken("S1: more than the capacity %d of %s is held:%s", n.capacity, name, who)
	}
}

// partAt is a smaller part, and since when the holder uses no more.
type partAt struct {
	part Part
	from time.Time
}

// weighs is what a holder has now.
func (h *Held) weighs() (weight int64) {
	p := h.part
	if n := len(h.parts); n > 0 {
		p = h.parts[n-1].part
	}
	weight, _ = p.weighs()
	return weight
}

// inHolders is the score of a holder in the holders key; empty: it does not stand there.
func inHolders(w *Watch, name string, h *Held) string {
	score, _ := w.world.Do("ZSCORE", KeyH(name), h.tenure).(string)
	return score
}

// counted is what Redis counts for a holder with this score.
func counted(w *Watch, name string, h *Held, score float64) int64 {
	if score >= Light {
		return 1
	}
	if less, ok := w.world.Do("ZSCORE", KeyH(name), "weight|"+h.tenure).(string); ok {
		weight, _ := strconv.ParseInt(less, 10, 64)
		return -weight
	}
	id, _ := keyspace.ParseID(h.tenure)
	return id.Weight
}

func compareShared(w *Watch, name string, h *Held) {
	over, _ := strconv.ParseFloat(inHolders(w, name, h), 64)
	if h.tenure == "" || over == 0 {
		w.broken("S1: %s believes in %s, and is not in the holders key", h.Process.Owner, name)
		return
	}
	if weight, n := h.weighs(), counted(w, name, h, over); n < weight {
		w.broken("S1: %s holds %d of %s, and is counted as %d", h.Process.Owner, weight, name, n)
	}
	if over >= Light {
		over -= Light
	}
	left := time.Duration(over-float64(w.world.serverTime().UnixMicro())) * time.Microsecond
	own := time.Duration(float64(h.Lease.Remaining()) / h.Process.rate)
	if left = time.Duration(float64(left) / w.world.rate); own > left {
		w.broken("S1: %s believes in %s for %v more, its time in the holders key ends in %v", h.Process.Owner, name, own, left)
	}
}

// orderShared checks L1 of a shared kind where the network was calm: nobody who
// came later got a lower token.
func orderShared(w *Watch) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	const abreast = 60 * time.Millisecond // the try, the subscription, the place in the queue
	for name, n := range w.names {
		for _, a := range n.all {
			for _, b := range n.all {
				if a.Called.Add(abreast).Before(b.Called) && b.Lease.Token() < a.Lease.Token() {
					w.broken("L1: %s, who called for %s at %v, was overtaken by %s, who called at %v",
						a.Process.Owner, name, w.since(a.Called), b.Process.Owner, w.since(b.Called))
				}
			}
		}
	}
}

// NewSharedRun is a run about an RWMutex and a semaphore.
func NewSharedRun(seed uint64, plan *Plan) *Run {
	s := NewRun(seed, plan)
	s.shared, s.names = true, []string{"rw", "sem"}[:len(s.names)]
	if seed%3 == 0 {
		s.names[0] = "sem"
	}
	return s
}

const semSize = 5

func partOf(c *caller, name string) Part {
	if name == "sem" {
		return Part{Size: semSize, N: 1 + c.random.IntN(semSize)}
	}
	return Part{Write: c.random.IntN(3) == 0}
}

func onceShared(c *caller, name string) {
	part := partOf(c, name)
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	n := c.random.IntN(10)
	if n == 1 || n == 2 {
		ctx, cancel = context.WithTimeout(ctx, c.some(50*time.Millisecond))
	}
	h := c.run.Watch.CalledFor(c.link, name, part)
	lease, err := part.Lock(ctx, c.link, name, n == 0)
	if deadline, ok := ctx.Deadline(); ok {
		c.run.Watch.noOutage(h, deadline, err)
	}
	cancel()
	c.did(part.kind(), err)
	if err != nil {
		c.run.Watch.Leaves(h)
		c.refused(err)
		return
	}
	c.run.Watch.Granted(h, lease)
	giveSomeBack(c, h, lease, part)
	c.hold(h, lease)
}

// giveSomeBack makes a part smaller now and then, and again.
func giveSomeBack(c *caller, h *Held, lease *holdfast.Lease, part Part) {
	for c.random.IntN(3) == 0 && (part.Write || part.N > 1) {
		keep := lease.Downgrade
		if part.Write = false; part.N > 1 {
			part.N = 1 + c.random.IntN(part.N-1)
			keep = func() error { return lease.Keep(part.N) }
		}
		c.run.Watch.Smaller(h, part)
		err := keep()
		c.did("a smaller part", err)
		over := lease.Err()
		if err != nil && !errors.Is(err, holdfast.ErrUnknown) && (!errors.Is(err, holdfast.ErrLost) || over == nil) && !c.link.Dead() {
			c.run.Watch.Broken("a smaller part of %s: %v, and the lease says %v", h.name, err, over)
		}
	}
}

// probe takes a name for itself alone.
func (s *Run) probe(ctx context.Context, l *Link, name string) (*holdfast.Lease, error) {
	switch {
	case !isShared(name):
		return l.Client.Mutex(name).Lock(ctx)
	case name == "sem":
		return Part{Size: semSize, N: semSize}.Lock(ctx, l, name, false)
	}
	return Part{Write: true}.Lock(ctx, l, name, false)
}

func (s *Run) heldBy(name string) string {
	lock, _, _ := Keys(name)
	if isShared(name) {
		return fmt.Sprint(s.list("HGETALL", lock), s.list("ZRANGE", KeyH(name), "0", "-1", "WITHSCORES"))
	}
	return brief(fmt.Sprint(s.Do("GET", lock)))
}

// evict deletes what says who holds; of a shared kind perhaps the lock key alone, by which
// nobody loses anything.
func (s *Run) evict(name string, r *rand.Rand) {
	switch {
	case !isShared(name):
		s.Evict(name)
		return
	case r.IntN(3) == 0:
		s.evictAlone(name)
		return
	case r.IntN(2) == 0:
		s.Evict(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("H of %s is deleted", name)
	s.Watch.forgottenName(name)
	s.Do("DEL", KeyH(name))
}

// evictAlone deletes the lock key of a shared kind, and nothing that says who holds.
func (s *Run) evictAlone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock, _, _ := Keys(name)
	s.note("the lock key alone of %s is deleted", name)
	s.Do("DEL", lock)
}
