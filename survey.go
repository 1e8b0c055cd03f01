package holdfast

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Survey has the states of many names, from [Client.Survey]. Each state is from a
// moment of its own.
type Survey struct {
	Names  []Surveyed // sorted by name
	Counts Counts
}

// Surveyed is one name of a [Survey].
type Surveyed struct {
	*State              // never nil; has only Name if Err is not nil
	Err     error       // reason for which it could not be inspected: a ServerError or ErrUnreachable
	Reasons []Diagnosis // diagnoses, most serious first; none if the name is free
}

// Problem returns the most serious problem of the name, or nil if it has none.
func (s *Surveyed) Problem() *Diagnosis { return problemOf(s.Reasons) }

// Counts are the totals of a [Survey].
type Counts struct {
	Held       int          // names that are held
	Cooldown   int          // names in cool-down: not held and not available yet
	Free       int          // names that are free
	Unreadable int          // names that could not be inspected
	Waiting    int          // waiters of all names
	Problems   int          // names with a problem
	Codes      map[Code]int // names with each code
}

const (
	surveyListed = 100 // waiters that are listed of each name
	surveyAtOnce = 16  // names of a quorum that are asked about side by side
)

// Survey inspects all names with a prefix that were locked in the last day, and
// diagnoses each. It also finds processes that wait for each other in a circle. It
// changes nothing.
//
// Survey lists the first 100 waiters of each name. It keeps all results in memory: for
// millions of names use longer prefixes, or [Client.Names] with [Client.Inspect].
//
// A name that cannot be inspected has an error in [Surveyed.Err]. Survey itself returns
// the error of Names or of ctx, or [ErrUnreachable] if no name could be inspected.
func (c *Client) Survey(ctx context.Context, prefix string) (*Survey, error) {
	var names []string
	for name, err := range c.Names(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	s := &Survey{Names: make([]Surveyed, len(names))}
	for i, name := range names {
		s.Names[i].State = &State{Name: name}
	}
	if c.quorum != nil {
		c.surveyQuorum(ctx, s.Names)
	} else {
		c.surveyNames(ctx, s.Names)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.noAnswer(); err != nil {
		return nil, err
	}
	s.Diagnose(nil)
	return s, nil
}

// surveyNames looks at names in pipelines.
func (c *core) surveyNames(callers context.Context, names []Surveyed) {
	looks := make([]*look, len(names))
	for i := range names {
		k, err := keysOf(c.options.Prefix, names[i].Name)
		if err != nil { // Names yields none of those
			names[i].Err = err
			continue
		}
		looks[i] = c.newLook(names[i].Name, k, surveyListed)
	}
	for open := looks; len(open) > 0; {
		open = slices.DeleteFunc(slices.Clone(open), func(l *look) bool { return l == nil || l.done })
		calls := make([]driver.Call, len(open))
		for i, l := range open {
			calls[i] = l.call
		}
		for i, r := range c.calls.Many(callers, c.options.patience(), calls) {
			open[i].heard(r.Reply, wire.WithoutContext(r.Err))
		}
	}
	var seen []*State
	for i, l := range looks {
		switch {
		case l == nil:
		case l.err != nil:
			names[i].Err = l.err
		default:
			names[i].State = l.state
			seen = append(seen, l.state)
		}
	}
	c.addDetails(callers, seen...)
}

// surveyQuorum asks all nodes about each name.
func (c *core) surveyQuorum(ctx context.Context, names []Surveyed) {
	slots := make(chan struct{}, surveyAtOnce)
	var asking sync.WaitGroup
	for i := range names {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			k, err := keysOf(c.options.Prefix, names[i].Name)
			if err == nil && ctx.Err() == nil {
				var state *State
				if state, err = c.quorum.inspect(ctx, names[i].Name, k); err == nil {
					names[i].State = state
				}
			}
			names[i].Err = err
		})
	}
	asking.Wait()
}

// noAnswer is why not one name could be looked at, where that is because nobody
// answers.
func (s *Survey) noAnswer() error {
	for i := range s.Names {
		if !errors.Is(s.Names[i].Err, ErrUnreachable) {
			return nil
		}
	}
	if len(s.Names) == 0 {
		return nil
	}
	return s.Names[0].Err
}

// Diagnose repeats the diagnosis of each name with the facts in o, and counts again.
func (s *Survey) Diagnose(o *DiagnoseOptions) {
	circles := findCircles(s.Names)
	s.Counts = Counts{Codes: map[Code]int{}}
	for i := range s.Names {
		n := &s.Names[i]
		if n.Err != nil {
			n.Reasons = []Diagnosis{DiagnoseError(n.Err)}
		} else {
			n.Reasons = n.Diagnose(o)
			if d, ok := circles[n.Name]; ok {
				n.Reasons = append([]Diagnosis{d}, n.Reasons...)
			}
		}
		s.Counts.add(n)
	}
}

func (c *Counts) add(n *Surveyed) {
	switch h := n.Holder; {
	case n.Err != nil:
		c.Unreadable++
	case h == nil:
		c.Free++
	case h.Cooldown:
		c.Cooldown++
	default:
		c.Held++
	}
	c.Waiting += n.Waiting
	if n.Problem() != nil {
		c.Problems++
	}
	for _, d := range n.Reasons {
		c.Codes[d.Code]++
	}
}

// DiagnoseError returns the diagnosis of a name that could not be inspected.
func DiagnoseError(err error) Diagnosis {
	return Diagnosis{
		CodeStoreError, "it cannot be inspected: " + strings.TrimPrefix(err.Error(), "holdfast: "),
		"run 'holdfast doctor': it checks the server, the network and the rights of its user",
	}
}
