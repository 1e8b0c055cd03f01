package model

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// Limits bound a search.
type Limits struct {
	States   int       // more than that end it; 0: 50 million
	Progress io.Writer // told every two seconds; nil: nobody is
	Name     string    // of the model, for Progress
}

// Result is what a search found.
type Result struct {
	States      int
	Transitions int
	Depth       int           // steps from the start to the farthest state
	Took        time.Duration // whole search
	Whole       bool          // every state that can be reached was looked at
	Broken      string        // the invariant that failed; empty: none did
	Trace       []Moment      // the way to the state where it failed
	Counts      map[string]int
}

// Search goes through the states of a model until all are seen, one is broken,
// or there are too many.
func Search[S comparable](m Model[S], limits Limits) Result {
	if limits.States == 0 {
		limits.States = 50_000_000
	}
	s := &search[S]{model: m, limits: limits, seen: newTable[S](), began: time.Now(), counts: make([]int, len(m.Labels()))}
	s.told = s.began
	s.run()
	r := Result{
		States: len(s.seen.prints), Transitions: s.transitions, Depth: s.depth, Took: time.Since(s.began),
		Whole: s.whole, Broken: s.broken, Counts: map[string]int{},
	}
	for i, label := range m.Labels() {
		r.Counts[label] += s.counts[i]
	}
	if s.broken != "" {
		r.Trace = s.trace()
	}
	return r
}

// search: How a path is printed stands in trace.go.
type search[S comparable] struct {
	model  Model[S]
	limits Limits
	seen   *table[S]

	began, told time.Time
	transitions int
	depth       int
	counts      []int
	whole       bool
	broken      string
	culprit     uint32 // the number of the broken state
}

type entry[S comparable] struct {
	number uint32
	state  S
}

// found is a state that follows another and was not known when it was found.
type found[S comparable] struct {
	from  uint32
	print fingerprint
	state S
}

// portion is how many states one worker expands before what it found is noted.
const portion = 1024

// run goes level by level. Workers expand, side by side, portions of the level
// against a table that nobody changes meanwhile; then one adds what they found,
// in their order, so that a search repeats itself.
func (s *search[S]) run() {
	start := s.model.Start()
	s.model.Canon(&start)
	s.seen.add(s.seen.print(&start), 0)
	if s.broken = s.model.Broken(&start); s.broken != "" {
		return
	}
	level := []entry[S]{{0, start}}
	workers := make([]worker[S], runtime.GOMAXPROCS(0))
	for i := range workers {
		workers[i] = worker[S]{search: s, counts: make([]int, len(s.counts))}
	}
	for len(level) > 0 {
		var next []entry[S]
		for at := 0; at < len(level); at += portion * len(workers) {
			var group sync.WaitGroup
			for i := range workers {
				from, to := min(at+i*portion, len(level)), min(at+(i+1)*portion, len(level))
				group.Go(func() { workers[i].expand(level[from:to]) })
			}
			group.Wait()
			for i := range workers {
				if next = s.note(&workers[i], next); s.broken != "" {
					return
				}
			}
			s.progress(len(level)-at, len(next))
			if len(s.seen.prints) > s.limits.States {
				return
			}
		}
		if level = next; len(level) > 0 {
			s.depth++
		}
	}
	s.whole = true
}

// note adds what a worker found, and looks at the invariants of what is new.
func (s *search[S]) note(w *worker[S], next []entry[S]) []entry[S] {
	s.transitions += w.transitions
	w.transitions = 0
	for i := range w.found {
		f := &w.found[i]
		number, known := s.seen.add(f.print, f.from)
		if known {
			continue
		}
		if s.broken = s.model.Broken(&f.state); s.broken != "" {
			s.culprit = number
			s.depth++
			break
		}
		next = append(next, entry[S]{number, f.state})
	}
	w.found = w.found[:0]
	for i, n := range w.counts {
		s.counts[i] += n
		w.counts[i] = 0
	}
	return next
}

func (s *search[S]) progress(left, next int) {
	if s.limits.Progress == nil || time.Since(s.told) < 2*time.Second {
		return
	}
	s.told = time.Now()
	fmt.Fprintf(s.limits.Progress, "%s: %d states, %d transitions, depth %d, %d of it left, %d beyond, %.0f s\n",
		s.limits.Name, len(s.seen.prints), s.transitions, s.depth, left, next, time.Since(s.began).Seconds())
}

type worker[S comparable] struct {
	search      *search[S]
	transitions int
	counts      []int
	found       []found[S]
}

func (w *worker[S]) expand(states []entry[S]) {
	s := w.search
	for i := range states {
		s.model.Next(&states[i].state, func(step Step, to *S) {
			w.transitions++
			for _, n := range step.Notes() {
				w.counts[n]++
			}
			state := *to
			s.model.Canon(&state)
			hash := s.seen.print(&state)
			if _, known := s.seen.find(hash); !known {
				w.found = append(w.found, found[S]{states[i].number, hash, state})
			}
		})
	}
}
