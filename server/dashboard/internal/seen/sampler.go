// Package seen polls a store once for all viewers, while there are any. A [Sampler] has the
// newest [Picture] of all names, and with it what has changed: the [Past].
package seen

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/journal"
)

// Interval is the time between two polls.
const Interval = 500 * time.Millisecond

const (
	patience  = 10 * time.Second // for one poll, or more if the last took long
	stayAwake = time.Minute      // after the last request of a viewer
)

// Sampler polls Redis for all viewers. It sleeps when there are none.
type Sampler struct {
	from    admin.Reader
	prefix  string
	journal Journal
	known   *diagnose.Options

	mu      sync.Mutex // protects all below
	current *Picture   // number 0 before the first poll
	fresh   chan struct{}
	wanted  time.Time // when a viewer last asked
	awake   bool
	past    *Past
}

// Picture is the state of all names at one moment. It never changes. A page shows one Picture,
// and reads a clock only to say how old it is, so that its parts can't contradict each other.
type Picture struct {
	Number     int64
	Locks      []*Lock // sorted by name
	ByName     map[string]*Lock
	Unreadable int           // names that the server would not show
	At         time.Time     // by our clock: the end of the newest poll that was answered
	Ahead      time.Duration // our clock less the server's
	Past       Past          // until then
	Took       time.Duration // by that poll
	Err        error         // of a newer poll, which was not answered
}

// Journal is the Journal of package dashboard.
type Journal interface {
	Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error]
	Follow(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error]
	Hours(ctx context.Context) ([]journal.Hour, int, error)
	Jobs(ctx context.Context) ([]journal.Job, int, error)
}

// NewSampler makes a Sampler of the names below a prefix; journal and known may be nil.
func NewSampler(from admin.Reader, prefix string, journal Journal, known *diagnose.Options) *Sampler {
	return &Sampler{from: from, prefix: prefix, journal: journal, known: known, current: &Picture{ByName: map[string]*Lock{}}, fresh: make(chan struct{}), past: newPast()}
}

// Touch notes that there is a viewer. It returns the newest picture, which is empty and has the
// number 0 before the first poll, and a channel that is closed when there is a newer one.
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

// Latest returns a picture that is at most 2 s old, or one with an error. If there is none, it
// waits for one until ctx ends.
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

// run polls while there are viewers.
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
		seen, err := survey(bounded, s.from, s.prefix, s.known)
		stop()
		last = time.Since(began)
		if !s.show(seen, err) {
			return
		}
		time.Sleep(pause(last))
	}
}

// show makes p the current picture. If err is not nil, the last picture stays, with err. It
// returns false if there are no more viewers.
func (s *Sampler) show(p *Picture, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current
	if err == nil {
		s.past.see(old, p)
		p.Past = s.past.still()
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

// follow takes in the last ten minutes of the journal, and new entries while there are viewers.
// The pages read older entries themselves.
func (s *Sampler) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if last, ok := s.catchUp(ctx); ok {
			for e, err := range s.journal.Follow(ctx, last) {
				if err == nil {
					s.remember(func(p *Past) {
						if !p.Written {
							p.read()
							p.Reading = false
						}
						p.note(e)
					})
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// catchUp takes in the last ten minutes of the journal, and returns what comes after them.
func (s *Sampler) catchUp(ctx context.Context) (after journal.Query, ok bool) {
	for newest, err := range s.journal.Read(ctx, journal.Query{Limit: 1, Newest: true}) {
		if err != nil && !errors.Is(err, journal.ErrEntry) {
			return after, false
		}
		after.After = newest.ID // empty if that is unreadable
		s.remember((*Past).read)
		break
	}
	after.Since = Since(Remembered)
	for e, err := range s.journal.Read(ctx, journal.Query{Since: after.Since}) {
		switch {
		case err == nil:
			after.After = e.ID
			s.remember(func(p *Past) { p.note(e) })
		case !errors.Is(err, journal.ErrEntry):
			return after, false
		}
	}
	s.remember(func(p *Past) { p.Reading = false })
	return after, true
}

// remember lets f change the past.
func (s *Sampler) remember(f func(*Past)) {
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
