package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Candidates and observers, through a network that loses, doubles and delays,
// killed and cut-off processes, deleted keys: no two lead at a time by their own
// view, terms rise, and so do the values of each, each observer tells changes and no rumours, and when the
// network is well again all agree on who leads.
func TestElectionRandomRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range max(2, *seeds/50) {
		synctest.Test(t, func(t *testing.T) { electionRun(t, seed) })
		if t.Failed() {
			t.Fatalf("run %d", seed)
		}
	}
}

func electionRun(t *testing.T, seed uint64) {
	s := stage{sim.NewWorld(seed), t}
	random := rand.New(rand.NewPCG(seed, 0xe1ec))
	some := func(d time.Duration) time.Duration { return 1 + time.Duration(random.Int64N(int64(d))) }
	weather := rand.New(rand.NewPCG(seed, 0xfa7e)) // protected by the World
	well := false
	s.SetNetwork(func(sim.Step) sim.Fate {
		some := func(d time.Duration) time.Duration { return 1 + time.Duration(weather.Int64N(int64(d))) }
		f := sim.Fate{Out: some(2 * time.Millisecond), Back: some(2 * time.Millisecond)}
		if well {
			return f
		}
		switch weather.IntN(15) {
		case 0:
			f.LoseOut, f.Reset = true, weather.IntN(2) == 0
		case 1:
			f.LoseBack, f.Reset = true, weather.IntN(2) == 0
		case 2:
			f.Twice = true
		case 3:
			f.Again = some(5 * time.Second)
		case 4:
			f.Out = some(500 * time.Millisecond)
		case 5:
			f.Overtake = true
		}
		return f
	})
	var links []*sim.Link
	var diaries []*diary
	ctx, cancel := context.WithCancel(context.Background())
	var leading sync.WaitGroup
	for i := range 4 {
		l := s.Process(fmt.Sprint("p", i), holdfast.Options{TTL: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1+float64(random.IntN(17)-8)/1000)
		links = append(links, l)
		for c := range 1 + random.IntN(2) {
			spell := 100*time.Millisecond + some(8*time.Second)
			leading.Go(func() { candidacy(ctx, s, l, fmt.Sprintf("p%d/%d", i, c), spell) })
		}
		diaries = append(diaries, s.observes(l))
	}
	for range 4 {
		time.Sleep(some(8 * time.Second))
		switch l := links[random.IntN(3)]; random.IntN(4) {
		case 0:
			s.Evict("n")
		case 1:
			if !links[1].Dead() {
				links[1].Kill()
				diaries[1].stop()
			}
		case 2:
			go l.Silence(some(6 * time.Second))
		case 3:
			l.Cut()
		}
	}
	s.Atomically(func() { well = true })
	time.Sleep(20 * time.Second)
	cancel()
	time.Sleep(20 * time.Second) // who was deaf may look no sooner
	for i, d := range diaries {
		d.stop()
		d.check(s, fmt.Sprint("p", i), links[i].Dead())
	}
	s.Close()
	leading.Wait()
	for _, b := range s.Watch.Violations() {
		t.Error(b)
	}
	if t.Failed() {
		t.Log(s.History(300))
	}
}

// proclaimed is the number of a value of one term.
func proclaimed(line string) (n int) {
	_, number, _ := strings.Cut(line, "#")
	n, _ = strconv.Atoi(number)
	return n
}

// candidacy leads again and again, each time for a while, and proclaims other values.
func candidacy(ctx context.Context, s stage, l *sim.Link, value string, spell time.Duration) {
	for ctx.Err() == nil && !l.Dead() {
		err := holdfast.Lead(ctx, l.Client.Election("n"), value, func(ctx context.Context, lease *holdfast.Lease) error {
			h := s.Watch.Called(l, "n")
			s.Watch.Granted(h, lease)
			defer s.Watch.Leaves(h)
			over := time.After(spell)
			for n := 1; ; n++ {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-over:
					return nil
				case <-time.After(spell / 4):
					_ = lease.Proclaim(ctx, fmt.Sprintf("%s#%d", value, n)) // or it is noted later
				}
			}
		})
		for _, fine := range []error{nil, context.Canceled, holdfast.ErrUnknown, holdfast.ErrClosed} {
			if errors.Is(err, fine) {
				err = nil
			}
		}
		if err != nil && !l.Dead() {
			s.Watch.Broken("Lead of %s says %v", value, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// check: what an observer told was never the same twice in a row, terms rose, and
// in the end nobody leads.
func (d *diary) check(s stage, who string, dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	newest := int64(0)
	for i, line := range d.lines {
		if i > 0 && line == d.lines[i-1] && d.terms[i] == d.terms[i-1] {
			s.t.Errorf("%s was told %q twice in a row", who, line)
		}
		if term := d.terms[i]; term > 0 && term < newest {
			s.t.Errorf("%s was told term %d after %d", who, term, newest)
		}
		newest = max(newest, d.terms[i])
		if i > 0 && d.terms[i] > 0 && d.terms[i] == d.terms[i-1] && proclaimed(line) < proclaimed(d.lines[i-1]) {
			s.t.Errorf("%s was told %q after %q", who, line, d.lines[i-1])
		}
	}
	if n := len(d.lines); !dead && (n == 0 || d.lines[n-1] != "none") {
		s.t.Errorf("%s does not know that nobody leads: %q", who, d.lines)
	}
}
