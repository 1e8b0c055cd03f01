package model

import (
	"fmt"
	"io"
)

// Moment is one step of a trace: what happened, and the state after it.
type Moment struct {
	Who  int
	What string
	Then string
}

// trace replays the way to the broken state. Only hashes were kept, so each step
// is found again by trying all. Names stay what they were at the start: what is
// compared is the canonical form, what is shown is not.
func (s *search[S]) trace() []Moment {
	labels := s.model.Labels()
	state := s.model.Start()
	moments := []Moment{{What: "start", Then: s.model.Print(&state)}}
	for _, number := range s.seen.path(s.culprit) {
		var then S
		var how Step
		hit := false
		s.model.Next(&state, func(step Step, to *S) {
			if hit {
				return
			}
			canonical := *to
			s.model.Canon(&canonical)
			if s.seen.print(&canonical) == s.seen.prints[number] {
				hit, then, how = true, *to, step
			}
		})
		if !hit {
			return append(moments, Moment{What: "the way on was not found: Canon and Next disagree"})
		}
		state = then
		moments = append(moments, Moment{Who: int(how.Who), What: how.text(labels), Then: s.model.Print(&state)})
	}
	return moments
}

// WriteTrace prints the way to a broken state. Who is how the model calls its
// processes, by their number.
func WriteTrace(w io.Writer, r Result, who func(int) string) {
	for i, m := range r.Trace {
		if i == 0 {
			fmt.Fprintf(w, "     start\n%s", m.Then)
			continue
		}
		fmt.Fprintf(w, "%3d. %s: %s\n%s", i, who(m.Who), m.What, m.Then)
	}
	fmt.Fprintf(w, "     broken: %s\n", r.Broken)
}
