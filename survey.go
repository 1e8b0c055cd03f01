package holdfast

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// Survey is what Client.Survey saw of many names, each at a moment of its own.
type Survey struct {
	Names  []Surveyed // sorted by name
	Counts Counts
}

// Surveyed is one name of a Survey.
type Surveyed struct {
	*State              // never nil; of a name that could not be looked at it has only Name
	Err     error       // why it could not be looked at: a ServerError, ErrUnreachable
	Reasons []Diagnosis // what is to be said of it, most serious first; none of a free name
}

// Problem is the most serious problem that a name has; nil: none.
func (s *Surveyed) Problem() *Diagnosis { return problemOf(s.Reasons) }

// Counts are the figures of a Survey.
type Counts struct {
	Held       int          // names that are held
	Cooldown   int          // names in cool-down: nobody has them, and nobody gets them yet
	Free       int          // names that nobody holds
	Unreadable int          // names that could not be looked at
	Waiting    int          // waiters, over all names
	Problems   int          // names with a problem
	Codes      map[Code]int // names with each code
}

const (
	surveyListed = 100 // waiters that are listed of each name
	surveyAtOnce = 16  // names of a quorum that are asked about side by side
)

// Survey looks at all names with a prefix that were locked in the last day, and says
// of each how it stands, see State.Diagnose, and who waits for whom in a circle. It
// changes nothing. It lists the first 100 waiters of a name, and Details of what it
// lists.
//
// It walks the keyspace as Names does and then asks in pipelines of 128 names, 4 at a
// time; 10,000 names that are held cost 10,000 scripts of some 10 µs and as many
// reads of Details. It keeps all in memory, a kilobyte or two for a name and some 300
// bytes for each waiter that it lists: where there are millions of names take longer prefixes,
// or Names and Inspect, one name at a time. A name that could not be looked at is in it with its error. The
// error is that of Names, that of ctx, or ErrUnreachable where not one name could be
// looked at for that.
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
		calls := make([]Call, len(open))
		for i, l := range open {
			calls[i] = l.call
		}
		for i, r := range c.evalMany(callers, calls, c.options.patience()) {
			open[i].heard(r.Reply, notTheCallers(r.Err))
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

// Diagnose says anew how each name stands, with what o knows, and counts.
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

// Trouble is the diagnosis of a name that could not be looked at.
func DiagnoseError(err error) Diagnosis {
	return Diagnosis{
		CodeStoreError, "it can't be looked at: " + strings.TrimPrefix(err.Error(), "holdfast: "),
		"holdfast doctor says what is wrong with the server, the way to it, or our rights there",
	}
}
