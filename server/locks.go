package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// page is the answer of list.
type page struct {
	Locks      []*view.State `json:"locks"`
	Next       *string       `json:"next"`       // give it as after; null: there are no more
	Unreadable int           `json:"unreadable"` // names with the prefix that could not be looked at
}

// filter is which names a page shows.
type filter struct {
	prefix, after string
	limit         int
	all, problems bool
}

func (f *filter) fits(n *holdfast.Surveyed) bool {
	switch {
	case !strings.HasPrefix(n.Name, f.prefix):
		return false
	case f.problems:
		return n.Problem() != nil
	}
	return f.all || n.Holder != nil || n.Waiting > 0
}

// list answers what is held or waited for, by name.
func (a *API) list(w http.ResponseWriter, r *http.Request) {
	f, p := newFilter(r)
	if p != nil {
		p.write(w)
		return
	}
	ctx, leave, err := a.store.enter(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	survey, err := a.surveys.get(ctx)
	if err != nil {
		problemOf(because(ctx, err)).write(w)
		return
	}
	answer(w, http.StatusOK, f.page(survey))
}

func newFilter(r *http.Request) (*filter, *problem) {
	q := r.URL.Query()
	f := &filter{prefix: q.Get("prefix"), after: q.Get("after"), limit: defaultPage}
	for key, values := range q {
		var err error
		switch key {
		case "prefix", "after":
		case "limit":
			if f.limit, err = strconv.Atoi(values[0]); err != nil || f.limit < 1 || f.limit > maxPage {
				return nil, newProblem(http.StatusBadRequest, "bad-request", "limit must be a number from 1 to %d", maxPage)
			}
		case "all":
			f.all, err = strconv.ParseBool(values[0])
		case "problems":
			f.problems, err = strconv.ParseBool(values[0])
		default:
			return nil, newProblem(http.StatusBadRequest, "bad-request", "unknown parameter %.50q: use prefix, after, limit, all or problems", key)
		}
		if err != nil {
			return nil, newProblem(http.StatusBadRequest, "bad-request", "%s must be true or false", key)
		}
	}
	return f, nil
}

// page is what the filter lets through.
func (f *filter) page(s *holdfast.Survey) *page {
	out := &page{Locks: []*view.State{}}
	last := ""
	for i := range s.Names {
		n := &s.Names[i]
		switch {
		case n.Err != nil:
			if strings.HasPrefix(n.Name, f.prefix) {
				out.Unreadable++
			}
		case n.Name <= f.after || !f.fits(n):
		case len(out.Locks) == f.limit:
			if out.Next == nil {
				out.Next = &last
			}
		default:
			last = n.Name
			out.Locks = append(out.Locks, view.NewState(n.State, n.Reasons))
		}
	}
	return out
}

// show answers what there is to know of one name.
func (a *API) show(w http.ResponseWriter, r *http.Request) {
	ctx, leave, err := a.store.enter(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	state, err := a.look(ctx, r.PathValue("name"), true)
	if err != nil {
		problemOf(because(ctx, err)).write(w)
		return
	}
	answer(w, http.StatusOK, state)
}

// surveys remembers the newest for a moment: finding names walks the whole keyspace,
// and pages are asked for one after the other.
type surveys struct {
	client *holdfast.Client
	turn   chan struct{} // one at a time
	newest *holdfast.Survey
	at     time.Time
}

const surveyLasts = 2 * time.Second

func newSurveys(client *holdfast.Client) *surveys {
	return &surveys{client: client, turn: make(chan struct{}, 1)}
}

func (s *surveys) get(ctx context.Context) (*holdfast.Survey, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.newest != nil && time.Since(s.at) < surveyLasts {
		return s.newest, nil
	}
	survey, err := s.client.Survey(ctx, "")
	if err != nil {
		return nil, err
	}
	s.newest, s.at = survey, time.Now()
	return survey, nil
}
