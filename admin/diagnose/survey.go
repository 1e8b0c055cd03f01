package diagnose

import "github.com/holdfast-go/holdfast/admin"

// Report has the diagnoses of all names of a survey.
type Report struct {
	Names  []Name // in the order of the survey
	Counts Counts
}

// Name is one name of a survey with its diagnoses.
type Name struct {
	admin.Surveyed
	Reasons []Diagnosis // most serious first; none if the name is free
}

// Problem returns the most serious diagnosis that needs an operator, or nil.
func (n *Name) Problem() *Diagnosis { return Problem(n.Reasons) }

// Counts are the totals of a [Report].
type Counts struct {
	Held       int          // names that are held
	Cooldown   int          // names in cool-down: not held and not available yet
	Free       int          // names that are free
	Unreadable int          // names that could not be inspected
	Waiting    int          // waiters of all names
	Problems   int          // names with a problem
	Codes      map[Code]int // names with each code
}

// Survey diagnoses each name of a survey. It also finds processes that wait for each
// other in a circle.
func Survey(survey *admin.Survey, o *Options) *Report {
	circles := findCircles(survey.Names)
	r := &Report{Names: make([]Name, len(survey.Names)), Counts: Counts{Codes: map[Code]int{}}}
	for i, surveyed := range survey.Names {
		n := &r.Names[i]
		n.Surveyed = surveyed
		if n.Err != nil {
			n.Reasons = []Diagnosis{Error(n.Err)}
		} else {
			n.Reasons = State(n.State, o)
			if d, ok := circles[n.Name]; ok {
				n.Reasons = append([]Diagnosis{d}, n.Reasons...)
			}
		}
		r.Counts.add(n)
	}
	return r
}

// Around returns the diagnoses of a name, as State does, and finds nested commands that wait
// for each other. around is the result of [admin.Admin.Around] for the name.
func Around(around *admin.Survey, o *Options) []Diagnosis {
	name := &around.Names[0]
	found := State(name.State, o)
	if d, ok := findCircles(around.Names)[name.Name]; ok {
		found = append([]Diagnosis{d}, found...)
	}
	return found
}

func (c *Counts) add(n *Name) {
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
