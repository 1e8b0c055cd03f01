package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// Watch sees every lease and everything that the server does, and notes where
// a promise is broken. It knows nothing of how the client works: leases come
// from the callers, keys from the server. Protected by the World's mutex.
// How it checks waits stands in harness_waits_test.go.
type Watch struct {
	world      *World
	names      map[string]*watched
	ids        map[string]string    // the name that an id is of
	gone       map[string]time.Time // when the first cancel or unlock was sent for an id
	grants     map[string]bool      // that were pushed: in a Cluster a process may hear of one twice
	violations []string
}

// watched is one name. Its shared kinds stand in harness_shared_test.go.
type watched struct {
	leases []*Held
	all    []*Held // every lease there ever was, in order of grant
	calls  []*Held // and every call, in order of calling
	tokens map[int64]bool
	newest int64 // token since the loss
	eras   []era // before it
	limit  int64 // tokens up to here were reserved before the newest loss
	lost   time.Time
	blocks []tokenBlock

	capacity  int64 // of a shared kind; 0: a mutex
	exclusive int64 // of a shared kind: the newest token that was held alone
}

// era is the time from one loss of the server's data to the next.
type era struct{ limit, newest int64 }

// before is the newest token of the era to which a token belongs.
func (n *watched) before(token int64) *int64 {
	for i, e := range n.eras {
		if token <= e.limit {
			return &n.eras[i].newest
		}
	}
	return &n.newest
}

// fellBack: a failover lost what no replica acknowledged, token blocks among it. A
// token of those must not be given.
func (w *Watch) fellBack() {
	for name, n := range w.names {
		_, fence, _ := Keys(name)
		text, _ := w.world.Do("GET", fence).(string)
		last := lastToken(text)
		kept := n.blocks[:0]
		for _, s := range n.blocks {
			if s.base <= max(last, n.limit) { // what was lost before may be believed in a little longer
				kept = append(kept, s)
			}
		}
		n.blocks = kept
		w.check(name)
	}
}

// lastToken is the token in the fence, behind which a client may stand.
func lastToken(f string) int64 {
	text, _, _ := strings.Cut(f, " ")
	last, _ := strconv.ParseInt(text, 10, 64)
	return last
}

type tokenBlock struct {
	base, end int64
	id        string
}

// Held is one call for a name, and the lease that it got.
// Its weight is reckoned in harness_shared_test.go.
type Held struct {
	Process *Link
	Called  time.Time
	Got     time.Time // zero: nothing
	Left    time.Time // when the caller gave up or was done
	Lease   Belief
	name    string
	tenure  string        // its id, when known
	part    Part          // of a shared kind
	parts   []partAt      // that were made of it later, each smaller
	stays   bool          // a term, or one with a MinHold: not to be exported
	own     bool          // it has a tenure, and a place in the queue, of its own
	least   time.Duration // that its name is kept from others since it was granted
}

func (w *Watch) name(name string) *watched {
	n := w.names[name]
	if n == nil {
		n = &watched{tokens: map[int64]bool{}}
		w.names[name] = n
	}
	return n
}

// broken notes a broken promise.
func (w *Watch) broken(what string, args ...any) {
	text := fmt.Sprintf("%v: ", time.Since(w.world.began)) + fmt.Sprintf(what, args...)
	w.violations = append(w.violations, text)
	w.world.note("BROKEN %s", text)
}

// Broken is Broken for whoever does not hold the mutex.
func (w *Watch) Broken(what string, args ...any) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	w.broken(what, args...)
}

// Violations are the promises that were broken.
func (w *Watch) Violations() []string {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	return w.violations
}

// Called notes that a caller is about to ask for a name.
func (w *Watch) Called(l *Link, name string) *Held {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	h := &Held{Process: l, Called: time.Now(), name: name}
	n := w.name(name)
	n.calls = append(n.calls, h)
	w.world.note("%s calls for %s", l.Owner, name)
	return h
}

// Granted notes the lease that a call got.
func (w *Watch) Granted(h *Held, lease Belief) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	if h.Process.dead {
		return
	}
	n := w.name(h.name)
	h.Lease, h.Got = lease, time.Now()
	token := lease.Token()
	w.world.note("%s gets %s with token %d", h.Process.Owner, h.name, token)
	for _, s := range n.blocks {
		if s.base <= token && token < s.end {
			h.tenure = s.id
		}
	}
	switch {
	case n.tokens[token]:
		w.broken("S2: token %d of %s was given twice, now to %s", token, h.name, h.Process.Owner)
	case h.Process.paused(): // the turn of one that stands still; it will know when it goes on
	case lease.Err() != nil: // lost before its caller had it, who sent a request itself and waited for that
	case n.capacity == 0 && token <= *n.before(token) || n.capacity > 0 && !n.rises(h, token):
		w.broken("S2: token %d of %s after %d, to %s", token, h.name, *n.before(token), h.Process.Owner)
	case h.tenure == "":
		w.broken("S2: token %d of %s was reserved by nobody", token, h.name)
	}
	n.tokens[token] = true
	newest := n.before(token)
	*newest = max(*newest, token)
	n.leases = append(n.leases, h)
	n.all = append(n.all, h)
	w.check(h.name)
}

// Leaves notes that the caller is done, or gave up.
func (w *Watch) Leaves(h *Held) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	w.check(h.name)
	h.Left = time.Now()
	n := w.name(h.name)
	for i, other := range n.leases {
		if other == h {
			n.leases = append(n.leases[:i], n.leases[i+1:]...)
			break
		}
	}
	w.world.note("%s leaves %s", h.Process.Owner, h.name)
}

// noOutage checks the error of a call whose deadline has ended: no store is unreachable for a
// Client that held the name at the deadline and holds it still.
func (w *Watch) noOutage(h *Held, deadline time.Time, err error) {
	if !errors.Is(err, holdfast.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	for _, other := range w.name(h.name).leases {
		if other.Process == h.Process && other.Got.Before(deadline) && other.Lease.Err() == nil {
			w.broken("%s, who holds %s, cannot reach it: %v", h.Process.Owner, h.name, err)
		}
	}
}

// killed: the dead believe nothing.
func (w *Watch) killed(l *Link) {
	for _, n := range w.names {
		for i := len(n.leases) - 1; i >= 0; i-- {
			if n.leases[i].Process == l {
				n.leases = append(n.leases[:i], n.leases[i+1:]...)
			}
		}
	}
}

// forgotten: the server is about to lose all its data.
func (w *Watch) forgotten() {
	for name := range w.names {
		w.forgottenName(name)
	}
}

func (w *Watch) forgottenName(name string) {
	n := w.name(name)
	_, fence, _ := Keys(name)
	if text, ok := w.world.Do("GET", fence).(string); ok {
		n.limit = lastToken(text)
		n.eras = append(n.eras, era{n.limit, n.newest})
	}
	n.lost, n.exclusive = time.Now(), 0
}

// sent: an id serves one tenure, and never after its cancel or unlock. Of two calls that a
// client sends at one moment, either may go out first, whichever it decided on first.
func (w *Watch) sent(l *Link, kind, id string, args []string) {
	if kind == multiLock {
		for _, id := range args {
			w.sent(l, "lock", id, nil)
		}
		return
	}
	if kind == lockBatch {
		for _, one := range callsInBatch(args) {
			w.sent(l, one.Script.Name, one.Args[0], one.Args)
		}
		return
	}
	switch {
	case (kind == "lock" || kind == "shared_lock") && w.goneBefore(id):
		w.broken("rule 1: %s locks again by %s, which it gave up", l.Owner, brief(id))
	case kind == "cancel" || kind == "unlock" || kind == "cooldown" || kind == "shared_unlock":
		w.goes(id)
		if fresh := gains(kind, args); (kind == "unlock" || kind == "cooldown") && (fresh == id || w.goneBefore(fresh)) {
			w.broken("rule 1: %s queues %s again, which it gave up", l.Owner, brief(fresh))
		}
	}
}

// goes notes that an id is given up. The first time counts: cancels are repeated.
func (w *Watch) goes(id string) {
	if _, gone := w.gone[id]; !gone {
		w.gone[id] = time.Now()
	}
}

// goneBefore reports whether an id was given up at an earlier moment than this.
func (w *Watch) goneBefore(id string) bool {
	at, gone := w.gone[id]
	return gone && at.Before(time.Now())
}

// before is called before the server runs a call.
func (w *Watch) before(call driver.Call) {
	name := strings.TrimPrefix(call.Keys[0], Prefix)
	w.check(name)
	if len(call.Args) == 0 {
		return
	}
	if call.Script.Name == "steal" && w.holder(name) == call.Args[0] || call.Script.Name == "take" && w.holder(name) == call.Args[2] {
		w.forgottenName(name) // who has it may believe so until it hears of that
	}
	w.ids[call.Args[0]] = name
	w.ids[gains(call.Script.Name, call.Args)] = name
}

// after notes the token blocks that a call reserved.
func (w *Watch) after(call driver.Call, reply []string) {
	if len(reply) == 0 {
		return
	}
	f := strings.Fields(reply[0])
	if len(f) < 6 || f[0] != "granted" && f[0] != "renewed" {
		return
	}
	w.reserved(strings.TrimPrefix(call.Keys[0], Prefix), gains(call.Script.Name, call.Args), f[1], f[2])
}

// pushed notes the token block of a grant that is on its way to a process.
func (w *Watch) pushed(payload string) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	f := strings.Fields(payload)
	if len(f) < 8 || f[0] != "grant" || w.grants[payload] {
		return
	}
	w.grants[payload] = true
	w.reserved(w.ids[f[7]], f[7], f[1], f[2])
}

func (w *Watch) reserved(name, id, last, size string) {
	b, _ := strconv.ParseInt(last, 10, 64)
	n, _ := strconv.ParseInt(size, 10, 64)
	b += 1 - n
	if n > 0 {
		watched := w.name(name)
		for _, s := range watched.blocks {
			if b < s.end && s.base < b+n {
				w.broken("S2: the token block %d to %d of %s meets %d to %d of %s", b, b+n, brief(id), s.base, s.end, brief(s.id))
			}
		}
		watched.blocks = append(watched.blocks, tokenBlock{b, b + n, id})
	}
}

// check compares what the holders of a name believe with one another and with
// the server: S1, and that a loss is known in time.
func (w *Watch) check(name string) {
	n := w.names[name]
	if n == nil || len(n.leases) == 0 {
		return
	}
	if n.capacity > 0 {
		checkShared(w, name, n)
		return
	}
	var believer *Held
	for _, h := range n.leases {
		if h.Process.paused() || h.Lease.Err() != nil {
			continue
		}
		if h.Lease.Token() <= n.limit { // it was lost with the server's data
			if w.holder(name) == h.tenure {
				continue // a late duplicate of its lock has made the lock key again
			}
			if left := time.Since(n.lost); left > h.Process.TTL*102/100 {
				w.broken("S3: %s still believes in %s %v after it was lost", h.Process.Owner, name, left)
			}
			continue
		}
		if believer != nil {
			w.broken("S1: %s (token %d) and %s (token %d) both hold %s",
				believer.Process.Owner, believer.Lease.Token(), h.Process.Owner, h.Lease.Token(), name)
		}
		believer = h
	}
	if believer != nil {
		w.compare(name, believer)
	}
}

// holder is the value of the lock key, empty if there is none.
func (w *Watch) holder(name string) string {
	lock, _, _ := Keys(name)
	holder, _ := w.world.Do("GET", lock).(string)
	return holder
}

// compare: a lease's own view ends before its lock key can.
func (w *Watch) compare(name string, h *Held) {
	lock, _, _ := Keys(name)
	holder := w.holder(name)
	if h.tenure != "" && holder != h.tenure {
		w.broken("S1: %s believes in %s, whose lock key is %q", h.Process.Owner, name, brief(holder))
		return
	}
	pttl, _ := w.world.Do("PTTL", lock).(int64)
	own := time.Duration(float64(h.Lease.Remaining()) / h.Process.rate)
	left := time.Duration(float64(pttl) / w.world.rate * float64(time.Millisecond))
	if own > left {
		w.broken("S1: %s believes in %s for %v more, its lock key ends in %v", h.Process.Owner, name, own, left)
	}
}

// order checks L1 where the network was calm: a caller is overtaken only by
// callers of another process that waited in its queue when the tenure which served
// them began, or that came at about the same time; and no process has more than
// two tenures in front of it.
func (w *Watch) order() {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	const abreast = 60 * time.Millisecond // the try, the subscription, the place in the queue, and the recall
	for name, n := range w.names {
		began := map[string]time.Time{} // tenures, by their first lease
		for _, h := range n.all {
			if _, ok := began[h.tenure]; !ok {
				began[h.tenure] = h.Got
			}
		}
		for _, a := range n.calls {
			if a.Got.IsZero() {
				continue
			}
			tenures := map[*Link]map[string]bool{}
			for _, b := range n.all {
				if b.Process == a.Process || !b.Got.Before(a.Got) || b.Got.Before(a.Called) {
					continue
				}
				if from := began[b.tenure]; b.Called.After(from) && b.Called.After(a.Called.Add(abreast)) {
					w.broken("L1: %s, who called for %s at %v, was overtaken by %s, who called at %v into a tenure that began at %v",
						a.Process.Owner, name, w.since(a.Called), b.Process.Owner, w.since(b.Called), w.since(from))
				}
				if began[b.tenure].After(a.Called.Add(abreast)) {
					if tenures[b.Process] == nil {
						tenures[b.Process] = map[string]bool{}
					}
					tenures[b.Process][b.tenure] = true
				}
			}
			for l, t := range tenures {
				if len(t) > 2 {
					w.broken("L1: %s waited for %s during %d tenures of %s", a.Process.Owner, name, len(t), l.Owner)
				}
			}
		}
	}
}

func (w *Watch) since(t time.Time) time.Duration { return t.Sub(w.world.began) }

// CalledFor is Called for a part of a shared kind.
func (w *Watch) CalledFor(l *Link, name string, p Part) *Held {
	h := w.Called(l, name)
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	h.part = p
	_, w.name(name).capacity = p.weighs()
	return h
}

// Smaller notes that a holder is about to make its part smaller: from now on it uses no
// more than that.
func (w *Watch) Smaller(h *Held, p Part) {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	w.check(h.name)
	h.parts = append(h.parts, partAt{p, time.Now()})
}
