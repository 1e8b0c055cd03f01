package dashboard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

const (
	mostNames   = 20_000 // that are shown
	looksInOne  = 2_000  // names asked about in one look
	looksAtOnce = 16     // of these at the same time
)

// sight is what one look saw.
type sight struct {
	locks   []*lock // sorted by name
	refused int     // names that the server will not show
	more    bool    // there are more names than mostNames
}

// walker looks at the names one by one: those that are in use each time, of the
// others as many as there is time for. Only the sampler's goroutine uses it.
type walker struct {
	client  *holdfast.Client
	prefix  string
	names   []string         // sorted
	known   map[string]*lock // what was seen last
	next    int              // in names: where to go on with those not in use
	more    bool
	scanned time.Time
	scan    time.Duration // what the last list of names took
	terms   map[string]term
}

// term is what an election's leader announced; asked again now and then while it is 0,
// because leaders announce after they were granted.
type term struct {
	number int64
	asked  time.Time
}

func newWalker(client *holdfast.Client, prefix string) *walker {
	return &walker{client: client, prefix: prefix, known: map[string]*lock{}, terms: map[string]term{}}
}

// look returns an error when the server does not answer; a name it refuses is left out.
func (w *walker) look(ctx context.Context) (*sight, error) {
	// A list of names costs the server something for every key it has: no more than a
	// twentieth of the time goes into it.
	if time.Since(w.scanned) >= 20*w.scan {
		if err := w.list(ctx); err != nil {
			return nil, err
		}
	}
	looked, err := w.inspect(ctx, w.due())
	if err != nil {
		return nil, err
	}
	s := &sight{more: w.more}
	for _, name := range w.names {
		l, now := looked[name]
		switch {
		case now && l == nil:
			s.refused++
			delete(w.known, name)
			continue
		case now:
			w.known[name] = l
		}
		if l := w.known[name]; l != nil {
			s.locks = append(s.locks, l)
		}
	}
	return s, nil
}

func (w *walker) list(ctx context.Context) error {
	began := time.Now()
	var names []string
	w.more = false
	for name, err := range w.client.Names(ctx, w.prefix) {
		if err != nil {
			return err
		}
		if w.more = len(names) == mostNames; w.more {
			break
		}
		names = append(names, name)
	}
	slices.Sort(names)
	w.names, w.scanned, w.scan = names, time.Now(), time.Since(began)
	for name := range w.known {
		if _, still := slices.BinarySearch(names, name); !still {
			delete(w.known, name)
		}
	}
	return nil
}

// due are the names to ask about now.
func (w *walker) due() []string {
	var due, idle []string
	for i := range w.names {
		name := w.names[(w.next+i)%len(w.names)]
		if l := w.known[name]; l != nil && l.active() {
			due = append(due, name)
		} else {
			idle = append(idle, name)
		}
	}
	room := max(looksInOne-len(due), looksInOne/10)
	if len(idle) > room {
		idle = idle[:room]
		w.next, _ = slices.BinarySearch(w.names, idle[room-1])
		w.next++
	}
	return append(due, idle...)
}

// inspect asks about names, a few at a time. A name that was refused is nil.
func (w *walker) inspect(ctx context.Context, names []string) (map[string]*lock, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	looked := make(map[string]*lock, len(names))
	var mu sync.Mutex // guards looked and w.terms
	var all sync.WaitGroup
	next := make(chan string)
	for range min(looksAtOnce, len(names)) {
		all.Go(func() {
			for name := range next {
				l, err := w.one(ctx, name, &mu)
				if errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrClosed) || ctx.Err() != nil {
					cancel(err)
				}
				mu.Lock()
				looked[name] = l
				mu.Unlock()
			}
		})
	}
feed:
	for _, name := range names {
		select {
		case next <- name:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	all.Wait()
	return looked, context.Cause(ctx)
}

func (w *walker) one(ctx context.Context, name string, mu *sync.Mutex) (*lock, error) {
	state, err := w.client.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	l := &lock{State: state, seen: time.Now(), findings: diagnose(state)}
	h := state.Holder
	if h == nil || state.Kind != holdfast.KindMutex || h.Foreign || h.Resting {
		return l, nil
	}
	mu.Lock()
	t, asked := w.terms[h.Hash]
	mu.Unlock()
	if t.number == 0 && (!asked || h.Held < 10*time.Second || time.Since(t.asked) > time.Minute) {
		if leader, err := w.client.Election(name).Leader(ctx); err == nil && leader.Hash == h.Hash {
			t = term{leader.Term, time.Now()}
			mu.Lock()
			if len(w.terms) > 2*mostNames {
				clear(w.terms)
			}
			w.terms[h.Hash] = t
			mu.Unlock()
		}
	}
	l.term = t.number
	return l, nil
}
