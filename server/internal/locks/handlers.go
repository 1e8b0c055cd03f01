package locks

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/memo"
	"github.com/holdfast-go/holdfast/server/internal/reply"
	"github.com/holdfast-go/holdfast/server/internal/request"
)

const (
	defaultPage = 100
	maxPage     = 1000

	surveyLasts = 2 * time.Second // finding names walks the whole keyspace, and pages are asked for one after the other
)

// page is the answer of List.
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

// List answers what is held or waited for, by name.
func (n *Names) List(w http.ResponseWriter, r *http.Request) error {
	f, err := newFilter(r)
	if err != nil {
		return err
	}
	return n.store.Do(r.Context(), func(ctx context.Context) error {
		fresh := func(a memo.Answer[*diagnose.Report]) bool {
			return (a.Err == nil || errors.Is(a.Err, admin.ErrTooMany)) && time.Since(a.At) < surveyLasts
		}
		got := n.surveys.Get(ctx, "", fresh, func() (*diagnose.Report, error) {
			survey, err := n.Admin.Survey(ctx, "", view.MaxNames)
			if err != nil {
				return nil, err
			}
			if err := doctor.HidesWaiters(ctx, n.Admin, survey); err != nil {
				return nil, reply.NewProblem("unavailable", "%v", err)
			}
			return diagnose.Survey(survey, n.known), nil
		})
		if errors.Is(got.Err, admin.ErrTooMany) {
			return reply.NewProblem("unavailable", "there are more than %d names: list some with holdfast ls PREFIX", view.MaxNames)
		}
		if got.Err != nil {
			return got.Err
		}
		return reply.JSON(w, http.StatusOK, f.page(got.Value))
	})
}

func newFilter(r *http.Request) (*filter, error) {
	q := r.URL.Query()
	f := &filter{prefix: q.Get("prefix"), after: q.Get("after"), limit: defaultPage}
	for key, values := range q {
		var err error
		switch key {
		case "prefix", "after":
		case "limit":
			if f.limit, err = strconv.Atoi(values[0]); err != nil || f.limit < 1 || f.limit > maxPage {
				return nil, reply.NewProblem("bad-request", "limit must be a number from 1 to %d", maxPage)
			}
		case "all":
			f.all, err = strconv.ParseBool(values[0])
		case "problems":
			f.problems, err = strconv.ParseBool(values[0])
		default:
			return nil, reply.NewProblem("bad-request", "unknown parameter %.50q: use prefix, after, limit, all or problems", key)
		}
		if err != nil {
			return nil, reply.NewProblem("bad-request", "%s must be true or false", key)
		}
	}
	return f, nil
}

func (f *filter) fits(n *diagnose.Name) bool {
	if f.problems {
		return n.Problem() != nil
	}
	return f.all || n.Holder != nil || n.Waiting > 0
}

// page is what the filter lets through.
func (f *filter) page(s *diagnose.Report) *page {
	out := &page{Locks: []*view.State{}}
	last := ""
	for i := range s.Names {
		n := &s.Names[i]
		switch {
		case !strings.HasPrefix(n.Name, f.prefix):
		case n.Err != nil:
			out.Unreadable++
		case n.Name <= f.after || !f.fits(n):
		case len(out.Locks) < f.limit:
			last = n.Name
			out.Locks = append(out.Locks, view.NewState(n.State, n.Reasons))
		default:
			out.Next = &last
		}
	}
	return out
}

// Show answers what there is to know of one name.
func (n *Names) Show(w http.ResponseWriter, r *http.Request) error {
	return n.store.Do(r.Context(), func(ctx context.Context) error {
		state, err := n.inspect(ctx, r.PathValue("name"))
		if err != nil {
			return err
		}
		return reply.JSON(w, http.StatusOK, state)
	})
}

// revocation is the body of a revoke or a steal.
type revocation struct {
	Name   string `json:"name"`
	Hash   string `json:"hash"` // of the tenure that is meant
	Reason string `json:"reason"`
}

// Revoke asks a holder to stop: 202, and how many subscriptions were notified.
func (n *Names) Revoke(w http.ResponseWriter, r *http.Request) error {
	return n.carryOut(w, r, "revoke", http.StatusAccepted, func(ctx context.Context, o *revocation) (any, error) {
		notified, err := n.Admin.Revoke(ctx, o.Name, o.Hash, o.Reason)
		return map[string]any{"name": o.Name, "hash": o.Hash, "notified": notified}, err
	})
}

// Steal takes the name from its holder: 200.
func (n *Names) Steal(w http.ResponseWriter, r *http.Request) error {
	return n.carryOut(w, r, "steal", http.StatusOK, func(ctx context.Context, o *revocation) (any, error) {
		return map[string]any{"name": o.Name, "hash": o.Hash}, n.Admin.Steal(ctx, o.Name, o.Hash, o.Reason)
	})
}

func (n *Names) carryOut(w http.ResponseWriter, r *http.Request, what string, status int, give func(context.Context, *revocation) (any, error)) error {
	o := &revocation{}
	_, err := request.Decode(w, r, o)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return err
	}
	by := auth.PrincipalOf(r)
	if by.Label != "" {
		o.Reason += " (by " + by.Label + ")"
	}
	return n.store.Do(r.Context(), func(ctx context.Context) error {
		out, err := give(ctx, o)
		log := n.logger.With("name", o.Name, "hash", o.Hash, "reason", o.Reason, "by", by.Label, "from", r.RemoteAddr)
		if err != nil {
			log.Info("server: "+what+" failed", "error", err)
			return err
		}
		log.Info("server: " + what)
		return reply.JSON(w, status, out)
	})
}

func (o *revocation) check() error {
	o.Reason, o.Hash = strings.TrimSpace(o.Reason), strings.ToLower(o.Hash)
	switch {
	case o.Name == "":
		return reply.NewProblem("bad-name", "name is missing: give the name")
	case o.Reason == "":
		return reply.NewProblem("bad-request", "a reason is required: the holder reads it")
	case len(o.Reason) > 1000:
		return reply.NewProblem("bad-request", "reason has more than 1000 bytes")
	case len(o.Hash) != 10 || strings.Trim(o.Hash, "0123456789abcdef") != "":
		return reply.NewProblem("bad-request", "hash must be the hash of a tenure: ten hexadecimal digits, as GET /v1/locks/NAME gives it")
	}
	return nil
}
