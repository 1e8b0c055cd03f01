package dashboard

import (
	"context"
	"sync"
	"time"
)

const (
	interval  = 500 * time.Millisecond // between two looks
	patience  = 10 * time.Second       // for one look, or more if the last took long
	stayAwake = time.Minute            // after the last one who watched
)

// sampler looks at Redis for all who watch. It sleeps when nobody does.
type sampler struct {
	look    func(ctx context.Context) (*sight, error)
	journal Journal

	mu      sync.Mutex // guards all below
	current *picture   // nil before the first look
	fresh   chan struct{}
	wanted  time.Time // when somebody last asked
	awake   bool
	past    *past
}

// picture is what was seen at one moment. It is not changed once made.
type picture struct {
	number     int64
	locks      []*lock // sorted by name
	byName     map[string]*lock
	unreadable int           // names that the server would not show
	at         time.Time     // our clock, when the newest look that was answered ended
	took       time.Duration // that look
	err        error         // of a newer look, that was not answered
}

func newSampler(look func(context.Context) (*sight, error), journal Journal) *sampler {
	return &sampler{look: look, journal: journal, fresh: make(chan struct{}), past: newPast()}
}

// touch says that somebody watches, and returns the newest picture, nil if there is
// none, and what is closed when a newer one is there.
func (s *sampler) touch() (*picture, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = time.Now()
	if !s.awake {
		s.awake = true
		go s.run()
	}
	return s.current, s.fresh
}

// latest returns a picture that is fresh as far as Redis answers, and waits for it
// if need be until ctx ends. Without any it is one of nothing, with number 0.
func (s *sampler) latest(ctx context.Context) *picture {
	asked := time.Now()
	for {
		p, fresh := s.touch()
		if p != nil && (p.err != nil || p.at.Add(4*interval).After(asked)) {
			return p
		}
		select {
		case <-fresh:
		case <-ctx.Done():
			if p == nil {
				p = &picture{byName: map[string]*lock{}}
			}
			return p
		}
	}
}

// run looks until nobody watches.
func (s *sampler) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.journal != nil {
		go s.follow(ctx)
	}
	last := 2 * patience // of the first nothing is known
	for {
		began := time.Now()
		bounded, stop := context.WithTimeout(ctx, max(patience, 3*last))
		seen, err := s.look(bounded)
		stop()
		took := time.Since(began)
		last = took
		if !s.show(seen, err, took) {
			return
		}
		time.Sleep(pause(took))
	}
}

// show makes the next picture, and returns false when nobody wants more.
func (s *sampler) show(seen *sight, err error, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current
	p := &picture{number: 1, byName: map[string]*lock{}}
	if old != nil {
		*p = *old
		p.number++
	}
	p.err = err
	if err == nil {
		p.locks, p.unreadable = seen.locks, seen.unreadable
		p.at, p.took = time.Now(), took
		p.byName = make(map[string]*lock, len(p.locks))
		for _, l := range p.locks {
			p.byName[l.Name] = l
		}
		s.past.see(old, p)
	}
	s.current = p
	close(s.fresh)
	s.fresh = make(chan struct{})
	s.awake = time.Since(s.wanted) < stayAwake
	return s.awake
}

// follow takes in what the journal says, from now on and as long as anybody
// watches. What is before that the pages ask for themselves.
func (s *sampler) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if written, err := s.journal.Recent(ctx, "", 1); err == nil && len(written) > 0 {
			s.remembers(func(p *past) { p.written = true })
		}
		for e, err := range s.journal.Follow(ctx) {
			if err != nil {
				break
			}
			s.mu.Lock()
			s.past.note(e)
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// remembers calls f with what is remembered of the past, which f must not keep.
func (s *sampler) remembers(f func(*past)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.past)
}

// empty reports that there is nothing to be shown because nothing was ever locked.
func (p *picture) empty() bool { return len(p.locks) == 0 && p.err == nil && p.number > 0 }

// blind reports that no look has seen anything yet, so that nothing can be said.
func (p *picture) blind() bool { return p.at.IsZero() }

// pause is how long to sleep after a look: long looks cost Redis something, so they get
// a fifth of the time, or at worst a third.
func pause(took time.Duration) time.Duration {
	return max(interval-took, min(4*took, max(2*took, 5*time.Second)))
}
