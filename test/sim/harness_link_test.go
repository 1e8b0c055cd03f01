package sim

import (
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
)

var (
	errReset = errors.New("sim: connection reset")
	errDown  = errors.New("sim: connection refused")
)

// Link is one process and its way to the server: the Store of its Client.
// Its subscriptions stand in harness_subscription_test.go.
type Link struct {
	Client *holdfast.Client
	Owner  string
	TTL    time.Duration

	world   *World
	number  int
	rate    float64 // of the process's clock
	random  *rand.Rand
	ahead   atomic.Int64 // nanoseconds by which its clock leapt
	stopped atomic.Int64 // its clock, plus 1, while it is paused; else 0

	// Protected by the World's mutex.
	seen       map[string]int // steps by kind
	subs       map[*subscription]struct{}
	silent     bool // nothing arrives anywhere, and nobody is told
	dead       bool
	mute, deaf bool           // nothing that it sends, or that is sent to it, arrives
	severed    int            // times that all its connections were cut
	resumed    chan struct{}  // closed when it goes on; nil: it is not paused
	died       time.Time      // when it was killed
	pauses     [][2]time.Time // from when until when it was paused; the end of one that lasts is zero
}

var _ driver.Store = (*Link)(nil)

// Silence black-holes the process for a while: connections stay, nothing moves.
func (l *Link) Silence(d time.Duration) {
	l.hush(true)
	time.Sleep(d)
	l.hush(false)
}

func (l *Link) hush(silent bool) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if l.silent != silent {
		l.world.note("%s silent=%v", l.Owner, silent)
	}
	l.silent = silent || l.dead
}

// Kill is kill -9: the server sees the connections end, and nobody goes on.
func (l *Link) Kill() {
	l.world.mu.Lock()
	l.world.note("%s is killed", l.Owner)
	l.dead, l.silent, l.died = true, true, time.Now()
	l.world.Watch.killed(l)
	l.world.mu.Unlock()
	l.cut()
}

// Leap is a suspend, as the process sees it: its clock jumps ahead.
func (l *Link) Leap(d time.Duration) { l.ahead.Add(int64(d)) }

// Cut ends the subscriptions of the process, as a reset of their connections.
func (l *Link) Cut() { l.cut() }

// Deafen lets the server forget the subscriptions of the process, which is not
// told: a half-open connection. Pings get no answer.
func (l *Link) Deafen() {
	l.world.mu.Lock()
	var subs []*subscription
	for s := range l.subs {
		subs = append(subs, s)
	}
	l.world.mu.Unlock()
	for _, s := range subs {
		s.deaf.Store(true)
		s.inner.Close()
	}
}

// Dead reports whether the process was killed.
func (l *Link) Dead() bool {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.dead
}

// cut ends the subscriptions of the process, as a reset of their connections.
func (l *Link) cut() {
	l.world.mu.Lock()
	var subs []*subscription
	for s := range l.subs {
		subs = append(subs, s)
	}
	l.world.mu.Unlock()
	for _, s := range subs {
		s.Close()
	}
}

// fate asks the network about a step.
func (l *Link) fate(step Step) Fate {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.world.Watch.sent(l, step.Kind, step.ID, step.Args)
	step.Process, step.N = l.number, l.seen[step.Kind]
	step.OfID = l.seen[step.where()]
	f := l.world.network(step)
	l.seen[step.Kind]++
	l.seen[step.where()]++
	l.world.Tally.Step(step.Kind, f.words(step.Push))
	l.world.note("%s %s %s %+v", l.Owner, step.Kind, brief(step.ID), f)
	if !step.Push {
		l.world.Log.Sent(time.Since(l.world.began), l.Owner, step.Kind, step.Args)
	}
	return f
}

type outcome struct {
	reply []string
	acked int
	err   error
}

// Eval sends a call. When ctx ends the caller goes home, but what was sent
// arrives all the same.
func (l *Link) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	o := l.send(ctx, call, 0, nil)
	return o.reply, o.err
}

// send is Eval, and with wait the WAIT that follows on the same connection.
func (l *Link) send(ctx context.Context, call driver.Call, timeout time.Duration, wait func(master int) (int, error)) outcome {
	return l.leave(ctx, call, timeout, wait)()
}

// leave sets a call on its way; what it returns waits for its end.
func (l *Link) leave(ctx context.Context, call driver.Call, timeout time.Duration, wait func(master int) (int, error)) func() outcome {
	stays := func(err error) func() outcome { return func() outcome { return outcome{err: err} } }
	if err := ctx.Err(); err != nil {
		return stays(err)
	}
	if !l.awake(ctx.Done()) {
		return stays(context.Cause(ctx))
	}
	f := l.fate(Step{Kind: call.Script.Name, ID: about(call), Args: call.Args, WAIT: timeout})
	came := make(chan outcome, 1)
	l.world.moving.Go(func() { l.travel(f, call, wait, came) })
	return func() outcome {
		select {
		case o := <-came:
			return o
		case <-ctx.Done():
			l.world.sleep(f.Home)
			return outcome{err: ctx.Err()}
		}
	}
}

func (l *Link) travel(f Fate, call driver.Call, wait func(master int) (int, error), came chan<- outcome) {
	lost := func() {
		if f.Reset {
			came <- outcome{err: errReset}
		}
	}
	w, epoch := l.world, l.epoch()
	if !w.sleep(f.Out) || f.LoseOut || l.quiet() {
		lost()
		return
	}
	if l.epoch() != epoch {
		came <- outcome{err: errReset}
		return
	}
	if f.Refuse != "" {
		came <- outcome{err: f.Refuse}
		return
	}
	master := w.master()
	reply, err := w.run(l, call)
	if f.Twice {
		reply, err = w.run(l, call)
		if w.Bug != nil {
			w.Bug(call)
		}
	}
	if f.Again > 0 {
		w.moving.Go(func() {
			if w.sleep(f.Again) {
				_, _ = w.run(l, call)
			}
		})
	}
	o := outcome{reply: reply, err: err}
	if wait != nil && err == nil {
		o.acked, o.err = wait(master)
	}
	if !w.sleep(f.Back) || f.LoseBack || l.unheard() || !l.awake(nil) {
		lost()
		return
	}
	switch {
	case l.epoch() != epoch:
		o = outcome{err: errReset}
	case f.Torn:
		o = outcome{err: io.ErrUnexpectedEOF}
	}
	came <- o
}

// quiet reports whether nothing that the process sends gets through at present.
func (l *Link) quiet() bool {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.silent || l.mute
}

// Sleep lets time pass, if it is more than none; false: all is over.
func Sleep(d time.Duration, over <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-over:
		return false
	}
}

// EvalAll sends the calls in their order; each fares as it may, and the answers come
// together.
func (l *Link) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	ends := make([]func() outcome, len(calls))
	for i, call := range calls {
		ends[i] = l.leave(ctx, call, 0, nil)
	}
	results := make([]driver.Result, len(calls))
	var all sync.WaitGroup
	for i, end := range ends {
		all.Go(func() {
			o := end()
			results[i].Reply, results[i].Err = o.reply, o.err
		})
	}
	all.Wait()
	return results
}

// Scan passes to the server.
func (l *Link) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return l.world.server.Scan(ctx, match)
}

// Sharded says whether this is to look like a Cluster.
func (l *Link) Sharded() bool { return l.world.sharded }

// plain is a script for the server inside, which knows no sharded channels.
func plain(s *driver.Script) *driver.Script {
	source := strings.NewReplacer("SPUBLISH", "PUBLISH", "SHARDNUMSUB", "NUMSUB").Replace(s.Source)
	return driver.NewScript(s.Name, source)
}

// about is the id that a call is about, empty for one that asks who leads.
func about(call driver.Call) string {
	if len(call.Args) == 0 {
		return ""
	}
	return call.Args[0]
}

// brief shortens an id: its nonce is enough to follow it.
func brief(id string) string {
	if part := strings.SplitN(id, ".", 3); len(part) == 3 {
		_, owner, _ := strings.Cut(part[2], "|")
		return owner + "/" + part[1][:min(4, len(part[1]))]
	}
	return id
}

func briefs(reply []string) []string {
	short := make([]string, len(reply))
	for i, s := range reply {
		short[i] = brief(s)
	}
	return short
}

// Pause is SIGSTOP, and SIGCONT later: meanwhile the process sends and hears
// nothing, its clock stands still, and it believes what it did. Then all that
// came meanwhile is there at once.
func (l *Link) Pause(d time.Duration) {
	w := l.world
	w.mu.Lock()
	if l.dead || l.resumed != nil {
		w.mu.Unlock()
		return
	}
	resumed := make(chan struct{})
	l.resumed = resumed
	l.pauses = append(l.pauses, [2]time.Time{time.Now()})
	l.stopped.Store(int64(l.now()) + 1)
	w.note("%s is paused", l.Owner)
	w.mu.Unlock()
	w.sleep(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note("%s goes on", l.Owner)
	l.pauses[len(l.pauses)-1][1] = time.Now()
	l.stopped.Store(0)
	l.resumed = nil
	for name := range w.Watch.names {
		w.Watch.check(name)
	}
	close(resumed)
}

// paused reports whether the process stands still.
func (l *Link) paused() bool { return l.stopped.Load() != 0 }

// awake waits until the process runs; false: all is over, or done is.
func (l *Link) awake(done <-chan struct{}) bool {
	for {
		l.world.mu.Lock()
		resumed := l.resumed
		l.world.mu.Unlock()
		if resumed == nil {
			return true
		}
		select {
		case <-resumed:
		case <-done:
			return false
		case <-l.world.over:
			return false
		}
	}
}

// now is the clock of the process.
func (l *Link) now() time.Duration {
	if at := l.stopped.Load(); at != 0 {
		return time.Duration(at - 1)
	}
	return time.Duration(float64(time.Since(l.world.began))*l.rate) + time.Duration(l.ahead.Load())
}

// OneWay loses, for a while, all that the process sends, or all that is sent to
// it.
func (l *Link) OneWay(out bool, d time.Duration) {
	set := func(on bool) {
		l.world.mu.Lock()
		defer l.world.mu.Unlock()
		if l.world.note("%s one-way out=%v %v", l.Owner, out, on); out {
			l.mute = on
		} else {
			l.deaf = on
		}
	}
	set(true)
	l.world.sleep(d)
	set(false)
}

// Sever ends all connections of the process: requests on their way are not read,
// answers on theirs do not come, and it is told so.
func (l *Link) Sever() {
	l.world.mu.Lock()
	l.world.note("all connections of %s are cut", l.Owner)
	l.severed++
	l.world.mu.Unlock()
	l.cut()
}

// epoch counts the times that the connections were cut.
func (l *Link) epoch() int {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.severed
}

// unheard reports whether nothing comes to the process at present; quiet, whether
// nothing comes from it.
func (l *Link) unheard() bool {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.silent || l.deaf
}

// EvalWait sends the calls side by side, each with a WAIT behind it; the answers
// come together, with the number of the worst.
func (l *Link) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	results := make([]driver.Result, len(calls))
	acked := make(chan int)
	for i, call := range calls {
		go func() {
			o := l.send(ctx, call, timeout, func(master int) (int, error) { return l.world.acknowledged(master, replicas, timeout) })
			results[i] = driver.Result{Reply: o.reply, Err: o.err}
			acked <- o.acked
		}()
	}
	least := <-acked
	for range len(calls) - 1 {
		least = min(least, <-acked)
	}
	return results, least, nil
}

// Seam gives the process a clock and chances of its own.
func (l *Link) Seam() clock.Seam {
	return clock.Seam{
		Now:    l.now,
		Random: l.random.Uint64,
	}
}
