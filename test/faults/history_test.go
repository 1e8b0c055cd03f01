//go:build linux

package faults

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-go/holdfast/test/faults/check"
	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/faults/inject"
	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/faults/workers"
)

// run is one history under way.
type run struct {
	t        testing.TB
	scenario Scenario
	seed     uint64
	random   *rand.Rand
	topology *topology.Topology
	slack    time.Duration
	length   time.Duration

	dir     string
	ttl     time.Duration
	ways    []topology.Way
	workers *workers.Workers
	locked  []string // names
	struck  int
	each    int           // callers of a client
	callers int           // of all together
	windows time.Duration // see check.Rules
	moved   bool          // another server is a master now
	peer    client.Peer
	silent  time.Duration // for so long TCP was silent when all was well again
	healed  *atomic.Bool  // nothing is done to the servers
}

// Outcome is what a history was.
type Outcome struct {
	Scenario   Scenario
	Seed       uint64
	Operations int // attempts
	Grants     int
	Faults     int           // that hit somebody
	Ended      int           // leases that ended by their deadline in a process that ran
	Idle       time.Duration // that a free name was, at most
	Late       int           // of them, those whose context came late
	Moments    int           // when that was
	Slow       bool          // the machine was too busy for the checks of times
	Undecided  int           // names for which the search for an order took too long
	Silent     time.Duration // TCP was silent for so long when the faults were over
	Violations []check.Violation
	Events     []history.Event // kept where there are violations
	Pictures   [][]byte        // HTML, of what has no order
	Err        error           // of the harness
}

// play plays a history on its topology and checks it. If the harness fails, play checks the events
// recorded until then: they may say why.
func (r *run) play() Outcome {
	o := Outcome{Scenario: r.scenario, Seed: r.seed}
	var events []history.Event
	events, o.Err = r.history()
	r.check(&o, events)
	return o
}

// history plays a history in a directory of its own. If it fails, it also returns the
// events recorded until then.
func (r *run) history() ([]history.Event, error) {
	r.random = rand.New(rand.NewPCG(r.seed, 1))
	var err error
	if r.dir, err = os.MkdirTemp("", "hfv"); err != nil { // short: a socket is in it
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	events, err := r.record()
	if err != nil {
		err = fmt.Errorf("%v, seed %d: %w", r.scenario, r.seed, err)
		events, _ = history.Merge(r.files()...)
	}
	return events, err
}

// check runs the checkers.
func (r *run) check(o *Outcome, events []history.Event) {
	s := check.Read(events)
	o.Operations, o.Grants, o.Faults = len(s.Asks), len(s.Leases), r.struck
	ended, late := check.Contexts(s)
	o.Ended, o.Late, o.Moments, o.Slow, o.Silent = ended, len(late), check.Moments(late), check.Slow(s), r.silent
	f := r.scenario.Fault
	rules := check.Rules{
		TTL: r.ttl, Slack: r.slack, Loses: f.Loses || r.moved && !f.Once, Split: f.Splits || r.moved && !f.Once, Replicas: f.Replicas > 0,
		Jumps: f.Jumps, Lags: f.Lags, Quiet: f.Name == inject.None.Name,
		Calm: f.Calm && !r.moved, Polled: r.topology.Quorum != "", Windows: r.windows,
	}
	_, o.Idle = check.Idleness(s, rules)
	o.Violations = check.All(s, rules)
	linear, unknown := check.Linear(s, rules, 5*time.Second, func(name string, info porcupine.LinearizationInfo, model porcupine.Model) {
		var page bytes.Buffer
		if err := porcupine.Visualize(model, info, &page); err == nil {
			o.Pictures = append(o.Pictures, page.Bytes())
		}
	})
	o.Undecided = unknown
	o.Violations = append(o.Violations, linear...)
	if len(o.Violations) > 0 || o.Err != nil || o.Undecided > 0 {
		o.Events = events
	}
}

// files are the histories of all processes that there are.
func (r *run) files() []string {
	if r.workers == nil {
		return nil
	}
	return append(r.workers.Files(), r.monitorFile(), r.pulseFile())
}

// record lets the history happen and returns it.
func (r *run) record() ([]history.Event, error) {
	if err := r.topology.Reset(r.t); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	r.ttl = []time.Duration{200, 300, 500, 1000, 2000}[r.random.IntN(5)] * time.Millisecond
	r.ttl = cmp.Or(r.scenario.Fault.TTL/time.Duration(1+r.random.IntN(2)), r.ttl)
	if r.scenario.Step == client.InRenewal {
		r.ttl = min(r.ttl, 500*time.Millisecond) // else renewals are rare
	}
	members := 3 + r.random.IntN(4)
	if shape := r.scenario.Fault.Shape; shape != nil {
		members = shape.Members
	}
	defer func() {
		for _, way := range r.ways {
			way.Close()
		}
	}()
	for range members {
		way, err := r.topology.Way(r.scenario.Fault.Proxied)
		if err != nil {
			return nil, err
		}
		r.ways = append(r.ways, way)
	}
	stop, err := r.watch()
	if err != nil {
		return nil, err
	}
	rest, err := r.pulse()
	if err != nil {
		stop()
		return nil, err
	}
	c, err := workers.Start(r.dir, members, r.settings())
	if err != nil {
		rest()
		stop()
		return nil, err
	}
	r.workers = c
	defer c.End()
	before := masters(r.topology)
	err = r.happen()
	rest()
	stop()
	split := r.topology.Kind == topology.Sentinel && len(before) > 1 // a failover had just begun by itself
	r.moved = split || !slices.Equal(before, masters(r.topology))
	if err != nil {
		return nil, err
	}
	return history.Merge(r.files()...)
}

// happen is what happens between the start of the workers and its end.
func (r *run) happen() error {
	c := r.workers
	length := cmp.Or(r.length, 3*time.Second)
	if shape := r.scenario.Fault.Shape; shape != nil {
		length = max(length, shape.Length*3/2)
	}
	if err := r.strikes(length*2/3 + time.Duration(r.random.Int64N(int64(length*2/3)))); err != nil {
		return err
	}
	if err := r.caughtUp(); err != nil {
		return err
	}
	c.Notes.Note(history.Event{What: history.Healed})
	r.healed.Store(true)
	c.Settle(r.ttl + time.Second + time.Duration(r.callers)*250*time.Millisecond + r.slack) // so that a waiter that nobody serves is noticed
	if err := c.Finish(); err != nil {
		return err
	}
	return r.noteLeft()
}

// monitored reports whether the server is watched: it costs it half its speed.
func (r *run) monitored() bool {
	return len(r.topology.Servers) == 1 && !r.topology.Kind.Clocked() && r.scenario.Fault.Name != "maxclients" && r.seed%3 == 0
}

// watch watches the one server, if it is to be. stop ends that.
func (r *run) watch() (stop func(), err error) {
	notes, err := history.NewWriter(r.monitorFile(), "monitor")
	if err != nil {
		return nil, err
	}
	if r.peer != "" {
		return r.watchKeys(notes)
	}
	if !r.monitored() {
		return func() { _ = notes.Close() }, nil
	}
	unwatch, err := watchServer(r.topology.Servers[0].Addr(), r.prefix(), notes)
	if err != nil {
		return nil, err
	}
	return func() { unwatch(); _ = notes.Close() }, nil
}

func (r *run) pulseFile() string { return filepath.Join(r.dir, "pulse.jsonl") }

func (r *run) monitorFile() string { return filepath.Join(r.dir, "monitor.jsonl") }

// settings draws what the workers are.
func (r *run) settings() func(int) client.Setting {
	if shape := r.scenario.Fault.Shape; shape != nil {
		return r.shaped(shape)
	}
	mix := client.Mix{Long: 0.0005, Cancel: 0.1, Try: 0.1}
	switch r.random.IntN(6) {
	case 0:
		mix.Long = 0.2
	case 1:
		mix.Long, mix.Idle = 0.3, true
	}
	if r.scenario.Step == client.InRenewal {
		mix.Long = 0.3 // else there is hardly any
	}
	first := r.random.IntN(2)
	callers := 1 + r.random.IntN(4)
	if r.random.IntN(3) == 0 {
		callers *= 3 // long queues
	}
	r.each, r.callers = callers, callers*len(r.ways)
	names := r.names()
	replicas := r.scenario.Fault.Replicas
	var linger time.Duration
	if r.random.IntN(2) == 0 && r.topology.Quorum == "" {
		linger = r.ttl / 2
	}
	hoard := 0
	if r.peer == "" && r.random.IntN(6) == 0 {
		hoard = 32
	}
	return func(member int) client.Setting {
		return client.Setting{
			Hoard: r.hoard(member, hoard),
			URLs:  r.ways[member].URLs, Netns: r.ways[member].Namespace(), Quorum: r.topology.Quorum, Driver: []string{"rueidis", "goredis"}[(member+first)%2],
			Peer: r.peer, TTL: r.ttl, Linger: linger, Replicas: replicas, Prefix: r.prefix(), Names: names, Callers: callers, Mix: mix,
			Seed: r.seed ^ uint64(member)<<16,
		}
	}
}

// shaped are the settings of a scenario that has a shape.
func (r *run) shaped(shape *inject.Shape) func(int) client.Setting {
	kind := history.Quorum
	if r.topology.Quorum == "" {
		kind = history.Mutex
		if len(shape.Kinds) > 0 {
			kind = shape.Kinds[r.random.IntN(len(shape.Kinds))]
		}
	}
	target := client.Target{Kind: kind, Names: []string{"a"}, Writes: true}
	if kind == history.Semaphore {
		target.Capacity = 2
	}
	r.locked = target.Names
	each := shape.Clients / shape.Members
	r.each = each * max(1, shape.Callers)
	r.callers = r.each * shape.Members
	first := r.random.IntN(2)
	return func(member int) client.Setting {
		mix := shape.Mix
		if member > 0 && shape.Others != (client.Mix{}) {
			mix = shape.Others
		}
		return client.Setting{
			URLs: r.ways[member].URLs, Netns: r.ways[member].Namespace(), Quorum: r.topology.Quorum, Driver: []string{"rueidis", "goredis"}[(member+first)%2],
			Peer: r.peer, TTL: r.ttl, Prefix: r.prefix(), Names: []client.Target{target}, Clients: each, Callers: r.each, Mix: mix,
			Seed: r.seed ^ uint64(member)<<16,
		}
	}
}

// hoard is n names that only one member wants: what one process holds of many is
// renewed together, and ends together.
func (r *run) hoard(member, n int) (targets []client.Target) {
	kind := history.Mutex
	if r.topology.Quorum != "" {
		kind = history.Quorum
	}
	for i := range n {
		targets = append(targets, client.Target{Kind: kind, Names: []string{fmt.Sprintf("h%d-%d", member, i)}})
	}
	return targets
}

func (r *run) prefix() string { return fmt.Sprintf("v%d:", r.seed%1_000_000) }

// names draws one to five names and what they are.
func (r *run) names() (targets []client.Target) {
	if r.peer != "" {
		return r.peerNames()
	}
	kinds := []history.Kind{history.Mutex, history.Mutex, history.Semaphore, history.RWMutex, history.Election}
	if r.topology.Quorum != "" {
		kinds = []history.Kind{history.Quorum}
	}
	n := 1 + r.random.IntN(5)
	var plain []string
	for i := range n {
		t := client.Target{Kind: kinds[r.random.IntN(len(kinds))], Names: []string{string(rune('a' + i))}}
		if t.Kind == history.Semaphore {
			t.Capacity = 2 + r.random.Int64N(4)
		}
		if t.Kind == history.Mutex {
			plain = append(plain, t.Names[0])
		}
		targets = append(targets, t)
		r.locked = append(r.locked, t.Names[0])
	}
	if len(plain) > 1 {
		targets = append(targets, client.Target{Kind: history.Multi, Names: plain})
	}
	return targets
}

// strikes lets the scenario's fault hit, again and again, for a length of time.
func (r *run) strikes(length time.Duration) error {
	scene := &inject.Scene{
		Topology: r.topology, Workers: r.workers, Ways: r.ways, Step: r.scenario.Step, Random: r.random, TTL: r.ttl,
		Prefix: r.prefix(), Names: r.locked, T: r.t, Callers: r.each,
	}
	defer func() { r.slack, r.windows = r.slack+scene.Windows, scene.Windows }()
	f := r.scenario.Fault
	for end := time.Now().Add(length); time.Now().Before(end); {
		time.Sleep(20*time.Millisecond + time.Duration(r.random.Int64N(int64(200*time.Millisecond))))
		if f.Name == inject.None.Name {
			continue
		}
		begun := history.Now()
		hit, heal, err := f.Strike(scene)
		if err != nil {
			return fmt.Errorf("strike: %w", err)
		}
		if hit == "" {
			continue
		}
		r.workers.Notes.Note(history.Event{T: begun, What: history.FaultBegin, Detail: r.scenario.String() + " " + hit})
		r.struck++
		time.Sleep(scene.Last(f))
		if heal != nil {
			if err := heal(); err != nil {
				return fmt.Errorf("heal: %w", err)
			}
		}
		r.workers.Notes.Note(history.Event{What: history.FaultEnd, Detail: hit})
		if err := r.workers.Err(); err != nil || f.Once {
			return err
		}
	}
	return nil
}

// caughtUp waits until TCP has sent again what was lost, if anything was.
func (r *run) caughtUp() error {
	took, err := caughtUp(r.topology)
	r.silent = max(r.silent, took)
	return err
}

// noteLeft notes what is left in Redis when all are gone. What is cleaned up in the
// background may take its time, and so may a busy machine's servers.
func (r *run) noteLeft() error {
	began := time.Now()
	for end := began.Add(r.ttl + r.slack); ; time.Sleep(10 * time.Millisecond) {
		left, err := keysLeft(r.topology, r.prefix())
		if err != nil && time.Since(began) < 20*time.Second {
			continue
		}
		if err != nil {
			return fmt.Errorf("what is left: %w", err)
		}
		var events []history.Event
		for _, l := range left {
			events = append(events, r.left(l)...)
		}
		living := slices.ContainsFunc(events, func(e history.Event) bool { return !r.workers.Dead(e.Process) })
		if living && time.Now().Before(end) {
			continue
		}
		for _, e := range events {
			r.workers.Notes.Note(e)
		}
		return nil
	}
}

// left are events about a key: one for each id in it, or if it lives for ever.
func (r *run) left(l left) (events []history.Event) {
	now := history.Now()
	e := history.Event{T: now, What: history.Left, Name: l.Key, Deadline: now + int64(l.Life)}
	if l.Life < 0 {
		e.Deadline = 0
		events = append(events, e)
	}
	for _, id := range l.IDs {
		_, e.Process, _ = strings.Cut(id, "|")
		if owner, _, ok := strings.Cut(e.Process, ":"); ok { // on a quorum, the token
			e.Process = owner
		}
		e.Detail = map[bool]string{true: "held", false: "waits"}[l.Holds]
		events = append(events, e)
	}
	return events
}
