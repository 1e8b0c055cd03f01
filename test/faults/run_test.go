//go:build linux

package faults

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/topology"
)

// Plan says what Run does.
type Plan struct {
	Scenarios []Scenario
	Seed      uint64
	For       time.Duration       // no history begins after that; 0: each scenario once
	Histories int                 // at most so many; 0: no limit
	Parallel  int                 // histories side by side, each on servers of its own
	Length    time.Duration       // faults hit for so long in a history, up to a third more or less; 0: 3 s
	Slack     time.Duration       // see check.Rules
	Failures  string              // directory for histories that break a promise
	LeftOut   map[string][]string // for the report; see the function
	Command   string              // for the report
	Progress  func(Outcome, *Report)
}

// Run plays histories, scenario after scenario in a random order, again and again. The
// same seed and a single scenario play the same faults again, as far as processes and
// machines can.
func Run(t testing.TB, plan Plan) *Report {
	report := newReport(plan)
	var telling sync.Mutex
	playAll(t, plan.Parallel, plan.each, func(r run) {
		r.slack, r.length = plan.Slack, plan.Length
		o := r.play()
		telling.Lock()
		defer telling.Unlock()
		report.add(o)
		if plan.Progress != nil {
			plan.Progress(o, report)
		}
	})
	return report.finish()
}

// playAll plays the runs that each begins, so many side by side, each worker on topologies of
// its own.
func playAll(t testing.TB, parallel int, each func(begin func(run)), play func(run)) {
	work := make(chan run)
	var working sync.WaitGroup
	for range parallel {
		topologies := map[topology.Kind]*topology.Topology{}
		working.Go(func() {
			defer func() { // a topology that can't be opened ends this goroutine, and fails the test
				for range work {
				}
			}()
			for r := range work {
				kind := r.scenario.Topology
				if topologies[kind] == nil {
					topologies[kind] = topology.Open(t, kind)
				}
				r.t, r.topology = t, topologies[kind]
				play(r)
			}
		})
	}
	each(func(r run) { work <- r })
	close(work)
	working.Wait()
}

// each draws the histories. A plan of one history of one scenario plays the very seed.
func (p *Plan) each(begin func(run)) {
	random := rand.New(rand.NewPCG(p.Seed, 0))
	end := time.Now().Add(p.For)
	for n := 0; ; {
		for _, i := range random.Perm(len(p.Scenarios)) {
			if p.Histories > 0 && n >= p.Histories || p.For > 0 && time.Now().After(end) {
				return
			}
			seed := random.Uint64() >> 12 // fits a JSON number
			if p.Histories == 1 && len(p.Scenarios) == 1 {
				seed = p.Seed
			}
			begin(run{scenario: p.Scenarios[i], seed: seed})
			n++
		}
		if p.For == 0 && p.Histories == 0 {
			return
		}
	}
}
