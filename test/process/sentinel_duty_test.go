//go:build unix

package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// duty is what a child does while masters come and go: it keeps names of its
// own, and its callers take shared ones in turns.
type duty struct {
	Kept    []string
	Shared  []string
	Callers int // for each shared name
	TTL     time.Duration
	Records string // file for the stays, written at the end
}

// stay is one lease. Times are of the machine's wall clock, in ns: all
// processes read the same.
type stay struct {
	Name    string
	Process int
	Token   int64
	Called  int64 // before Lock was called
	Got     int64 // after it returned
	Ended   int64 // before Release was called, or after the loss was known
	Cause   holdfast.Cause
	Kept    bool
}

// sight is what a child saw of one failover.
type sight struct {
	Seen      int64 // the first answer that only the new master can have given
	Recovered int64 // all kept names are held there, and all callers had a turn
	Losses    []stay
}

// worker is a duty on its way.
type worker struct {
	duty    duty
	process int
	client  *holdfast.Client
	monitor *monitor
	stop    chan struct{}
	busy    sync.WaitGroup

	mu     sync.Mutex // protects the rest
	stays  []stay
	keeps  map[string]*keep
	turns  map[string]int64 // by caller: when its newest turn was called
	errors []error
}

// keep is a kept name as it stands now.
type keep struct {
	lease *holdfast.Lease // nil while it is being locked
	got   int64
	again chan chan struct{}
}

func now() int64 { return time.Now().UnixNano() }

func (c *child) serve(process int, d duty) *worker {
	w := &worker{
		duty: d, process: process, client: c.client, monitor: c.monitor,
		stop: make(chan struct{}), keeps: map[string]*keep{}, turns: map[string]int64{},
	}
	for _, name := range d.Kept {
		k := &keep{again: make(chan chan struct{}, 1)}
		w.keeps[name] = k
		w.busy.Go(func() { w.keep(name, k) })
	}
	for _, name := range d.Shared {
		for i := range d.Callers {
			caller := fmt.Sprint(name, "/", i)
			w.turns[caller] = 0
			w.busy.Go(func() { w.takeTurns(name, caller) })
		}
	}
	return w
}

func (w *worker) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// lock wants a lease, however long it takes: no error may reach the user.
func (w *worker) lock(name string, kept bool) (*holdfast.Lease, stay) {
	s := stay{Name: name, Process: w.process, Kept: kept, Called: now()}
	lease, err := w.client.Mutex(name).Lock(context.Background())
	s.Got = now()
	if err != nil {
		w.fail(fmt.Errorf("lock of %s: %w", name, err))
		return nil, s
	}
	s.Token = lease.Token()
	return lease, s
}

func (w *worker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errors = append(w.errors, err)
}

// release gives back. What was lost says so, and what nobody answered is given
// back in the background.
func (w *worker) release(lease *holdfast.Lease, s stay) {
	s.Ended = now()
	err := lease.Release()
	if lost, ok := errors.AsType[*holdfast.LostError](err); ok {
		s.Cause = lost.Cause
	} else if err != nil && !errors.Is(err, holdfast.ErrUnknown) {
		w.fail(fmt.Errorf("release of %s: %w", s.Name, err))
	}
	w.note(s)
}

func (w *worker) note(s stay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stays = append(w.stays, s)
}

// keep holds a name until it is lost, and then locks it again.
func (w *worker) keep(name string, k *keep) {
	var done chan struct{}
	for !w.stopped() {
		lease, s := w.lock(name, true)
		if lease == nil {
			return
		}
		w.mu.Lock()
		k.lease, k.got = lease, s.Got
		w.mu.Unlock()
		if done != nil {
			close(done)
			done = nil
		}
		select {
		case <-lease.Done():
			s.Ended = now()
			if lost, ok := errors.AsType[*holdfast.LostError](lease.Err()); ok {
				s.Cause = lost.Cause
			}
			w.note(s)
			_ = lease.Release() // says lost
		case done = <-k.again:
			w.release(lease, s)
		case <-w.stop:
			w.release(lease, s)
			return
		}
		w.mu.Lock()
		k.lease = nil
		w.mu.Unlock()
	}
}

func (w *worker) takeTurns(name, caller string) {
	for !w.stopped() {
		lease, s := w.lock(name, false)
		if lease == nil {
			return
		}
		time.Sleep(4 * time.Millisecond) // work
		w.release(lease, s)
		w.mu.Lock()
		w.turns[caller] = s.Called
		w.mu.Unlock()
	}
}

// relock releases and locks every second of the kept names.
func (w *worker) relock() {
	var dones []chan struct{}
	for i, name := range w.duty.Kept {
		if i%2 == 0 {
			done := make(chan struct{})
			dones = append(dones, done)
			w.keeps[name].again <- done
		}
	}
	for _, done := range dones {
		<-done
	}
}

// recover waits until everything works again with the new master, and says what
// was lost since the old one ended.
func (w *worker) recover() (sight, error) {
	since := w.monitor.since.Load()
	eyes := sight{}
	for end := time.Now().Add(clienttest.Patience); ; time.Sleep(5 * time.Millisecond) {
		missing := w.missing(since)
		eyes.Seen = w.monitor.seen.Load()
		if len(missing) == 0 && eyes.Seen != 0 {
			break
		}
		if time.Now().After(end) {
			return eyes, fmt.Errorf("not recovered in %v (seen %v): %v", clienttest.Patience, eyes.Seen != 0, missing)
		}
	}
	eyes.Recovered = now()
	return eyes, nil
}

// losses are those since a time.
func (w *worker) losses(since int64) (lost []stay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.stays {
		if s.Cause != "" && s.Ended >= since {
			lost = append(lost, s)
		}
	}
	return lost
}

// missing names what does not work yet.
func (w *worker) missing(since int64) (missing []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, k := range w.keeps {
		// A lock, or a renewal that was sent since then: the deadline is 1 % and
		// 2 ms less than a ttl away from that.
		if k.lease == nil || w.monitor.concerns(name) && k.got < since && now()+int64(k.lease.Remaining()) < since+int64(w.duty.TTL*99/100-3*time.Millisecond) {
			missing = append(missing, name)
		}
	}
	for caller, called := range w.turns {
		if called < since {
			missing = append(missing, caller)
		}
	}
	return missing
}

// rest ends all of it and writes down what happened.
func (w *worker) rest() error {
	close(w.stop)
	w.busy.Wait()
	text, err := json.Marshal(w.stays)
	if err != nil {
		return err
	}
	return errors.Join(append(w.errors, os.WriteFile(w.duty.Records, text, 0o600))...)
}

// monitor is a store that notes when a master that came later answered first.
type monitor struct {
	driver.Store
	since atomic.Int64 // requests sent later reach nobody but the new master
	seen  atomic.Int64
	mu    sync.Mutex // protects names
	names []string   // these are the master's; nil: all
}

func (w *monitor) mark(names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = names
	w.seen.Store(0)
	w.since.Store(now())
}

// concerns reports whether a name was the old master's.
func (w *monitor) concerns(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names == nil || slices.Contains(w.names, name)
}

func (w *monitor) answered(sent int64, key string, err error) {
	if err != nil || w.seen.Load() != 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	concerns := func(name string) bool {
		return key == clienttest.LockKey(name) || strings.HasSuffix(key, "{"+clienttest.LockKey(name)+"}")
	}
	if since := w.since.Load(); since != 0 && sent > since && (w.names == nil || slices.ContainsFunc(w.names, concerns)) {
		w.seen.CompareAndSwap(0, now())
	}
}

func (w *monitor) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	sent := now()
	reply, err := w.Store.Eval(ctx, call)
	w.answered(sent, call.Keys[0], err)
	return reply, err
}

func (w *monitor) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	sent := now()
	results := w.Store.EvalAll(ctx, calls)
	for i, r := range results {
		w.answered(sent, calls[i].Keys[0], r.Err)
	}
	return results
}

func (w *monitor) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	sent := now()
	sub, err := w.Store.Subscribe(ctx, channel, message)
	w.answered(sent, channel, err)
	return sub, err
}

// obeyAtWork carries out the orders that concern a duty.
func (c *child) obeyAtWork(o order, r *reply) {
	c.mu.Lock()
	w := c.worker
	if o.Do == "serve" {
		w = c.serve(o.Load.Process, o.Duty)
		c.worker = w
	}
	c.mu.Unlock()
	switch o.Do {
	case "serve":
	case "relock":
		w.relock()
	case "glance":
		if lease, err := c.client.Mutex(o.Name).TryLock(context.Background()); err == nil {
			_ = lease.Release() // all that counts is an answer
		}
	case "mark":
		c.monitor.mark(o.Names)
	case "recover":
		var err error
		r.Sight, err = w.recover()
		r.said(err)
	case "losses":
		r.Sight.Losses = w.losses(o.Since)
	case "rest":
		r.said(w.rest())
	default:
		r.Err = "no such order: " + o.Do
	}
}
