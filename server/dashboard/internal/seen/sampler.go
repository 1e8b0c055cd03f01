// Package seen polls a store for all who watch, and remembers what it has seen.
package seen

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/journal"
)

// Interval is the time between two looks.
const Interval = 500 * time.Millisecond

const (
	patience  = 10 * time.Second // for one look, or more if the last took long
	stayAwake = time.Minute      // after the last one who watched
)

// Sampler looks at Redis for all who watch. It sleeps when nobody does.
type Sampler struct {
	from    admin.Reader
	prefix  string
	journal Journal

	mu      sync.Mutex // guards all below
	current *Picture   // number 0 before the first look
	fresh   chan struct{}
	wanted  time.Time // when somebody last asked
	awake   bool
	past    *Past
}

// Picture is what was seen at one moment. It is not changed once made.
type Picture struct {
	Number     int64
	Locks      []*Lock // sorted by name
	ByName     map[string]*Lock
	Unreadable int           // names that the server would not show
	At         time.Time     // our clock, when the newest look that was answered ended
	Took       time.Duration // that look
	Err        error         // of a newer look, that was not answered
}

// Journal is the record of the past, as the package dashboard has it.
type Journal interface {
	Recent(ctx context.Context, name string, limit int) ([]journal.Entry, error)
	Follow(ctx context.Context) iter.Seq2[journal.Entry, error]
	Jobs(ctx context.Context) ([]journal.Job, error)
}

// NewSampler makes a Sampler of the names below a prefix; journal may be nil.
func NewSampler(from admin.Reader, prefix string, journal Journal) *Sampler {
	return &Sampler{from: from, prefix: prefix, journal: journal, current: &Picture{ByName: map[string]*Lock{}}, fresh: make(chan struct{}), past: newPast()}
}

// Touch says that somebody watches, and returns the newest picture, one of nothing with
// number 0 if there is none, and what is closed when a newer one is there.
func (s *Sampler) Touch() (*Picture, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = time.Now()
	if !s.awake {
		s.awake = true
		go s.run()
	}
	return s.current, s.fresh
}

// Latest returns a picture that is fresh as far as Redis answers, and waits for it
// if need be until ctx ends. Without any it is one of nothing, with number 0.
func (s *Sampler) Latest(ctx context.Context) *Picture {
	asked := time.Now()
	for {
		p, fresh := s.Touch()
		if p.Number > 0 && (p.Err != nil || p.At.Add(4*Interval).After(asked)) {
			return p
		}
		select {
		case <-fresh:
		case <-ctx.Done():
			return p
		}
	}
}

// run looks until nobody watches.
func (s *Sampler) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.journal != nil {
		go s.follow(ctx)
	}
	last := 2 * patience // of the first nothing is known
	for {
		began := time.Now()
		bounded, stop := context.WithTimeout(ctx, max(patience, 3*last))
		seen, err := look(bounded, s.from, s.prefix)
		stop()
		last = time.Since(began)
		if !s.show(seen, err) {
			return
		}
		time.Sleep(pause(last))
	}
}

// show makes p the current picture; after an error the last one stays, with that. It returns
// false when nobody wants more.
func (s *Sampler) show(p *Picture, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current
	if err == nil {
		s.past.see(old, p)
	} else {
		p = new(*old)
	}
	p.Number, p.Err = old.Number+1, err
	s.current = p
	close(s.fresh)
	s.fresh = make(chan struct{})
	s.awake = time.Since(s.wanted) < stayAwake
	return s.awake
}

// follow takes in what the journal says, from now on and as long as anybody
// watches. What is before that the pages ask for themselves.
func (s *Sampler) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if written, err := s.journal.Recent(ctx, "", 1); err == nil && len(written) > 0 {
			s.Remembers(func(p *Past) { p.Written = true })
		}
		for e, err := range s.journal.Follow(ctx) {
			if err != nil {
				break
			}
			s.Remembers(func(p *Past) { p.note(e) })
		}
		time.Sleep(time.Second)
	}
}

// Remembers calls f with what is remembered of the past, which f must not keep.
func (s *Sampler) Remembers(f func(*Past)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.past)
}

// Empty reports that there is nothing to be shown because nothing was ever locked.
func (p *Picture) Empty() bool { return len(p.Locks) == 0 && p.Err == nil && p.Number > 0 }

// Blind reports that no look has seen anything yet, so that nothing can be said.
func (p *Picture) Blind() bool { return p.At.IsZero() }

// pause is how long to sleep after a look: long looks cost Redis something, so they get
// a fifth of the time, or at worst a third.
func pause(took time.Duration) time.Duration {
	return max(Interval-took, min(4*took, max(2*took, 5*time.Second)))
}
