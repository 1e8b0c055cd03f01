// Package past serves what the journal knows: past holders, and jobs.
package past

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/limit"
	"github.com/holdfast-go/holdfast/server/internal/outage"
	"github.com/holdfast-go/holdfast/server/internal/reply"
	"github.com/holdfast-go/holdfast/server/internal/request"
)

const (
	defaultLimit = 100
	mostLimit    = 1000

	longestSince = 400 * 24 * time.Hour
	maxReaders   = 16 // one may read the whole journal
)

// Past answers from the journal of a store.
type Past struct {
	admin   *admin.Admin
	store   *outage.Watch
	readers *limit.Gate
}

// New makes a Past.
func New(names *admin.Admin, store *outage.Watch) *Past {
	return &Past{names, store, limit.NewGate(maxReaders, "requests that read the journal")}
}

// filter holds the parameters of a request.
type filter struct {
	name, prefix string
	since        time.Duration
	limit        int
	problems     bool
}

// newFilter reads the parameters that a path has beside name, prefix and limit.
func newFilter(r *http.Request, more string) (f filter, err error) {
	f.limit = defaultLimit
	for key, values := range r.URL.Query() {
		switch {
		case key == "name":
			f.name = values[0]
		case key == "prefix":
			f.prefix = values[0]
		case key == "limit":
			if f.limit, err = strconv.Atoi(values[0]); err != nil || f.limit < 1 || f.limit > mostLimit {
				return f, reply.NewProblem("bad-request", "limit must be a number from 1 to %d", mostLimit)
			}
		case key == "since" && more == "since":
			if f.since, err = request.Duration("since", values[0], 0, time.Millisecond, longestSince); err != nil {
				return f, err
			}
		case key == more:
			if f.problems, err = strconv.ParseBool(values[0]); err != nil {
				return f, reply.NewProblem("bad-request", "%s must be true or false", key)
			}
		default:
			return f, reply.NewProblem("bad-request", "unknown parameter %.50q: use name, prefix, limit or %s", key, more)
		}
	}
	return f, nil
}

// read calls f where the journal may be read, and answers what it returns.
func (p *Past) read(w http.ResponseWriter, r *http.Request, f func(context.Context) (any, error)) error {
	leave, err := p.readers.Enter(auth.PrincipalOf(r))
	if err != nil {
		return err
	}
	defer leave()
	return p.store.Do(r.Context(), func(ctx context.Context) error {
		out, err := f(ctx)
		if err != nil {
			return err
		}
		return reply.JSON(w, http.StatusOK, out)
	})
}

// History answers entries of the journal, the newest first.
func (p *Past) History(w http.ResponseWriter, r *http.Request) error {
	f, err := newFilter(r, "since")
	if err != nil {
		return err
	}
	q := journal.Query{KeyPrefix: cmp.Or(p.admin.Prefix(), holdfast.NoPrefix), Name: f.name, Prefix: f.prefix, Newest: true}
	if f.since > 0 {
		q.Since = time.Now().Add(-f.since)
	}
	return p.read(w, r, func(ctx context.Context) (any, error) {
		entries, unreadable := []view.Entry{}, 0
		for e, err := range journal.Read(ctx, p.admin.Store(), q) {
			switch {
			case errors.Is(err, journal.ErrEntry):
				unreadable++
				continue
			case err != nil:
				return nil, err
			case e.Name == "" && f.name+f.prefix != "": // entries are missing, of unknown names
				continue
			}
			if entries = append(entries, view.NewEntry(e)); len(entries) == f.limit {
				break
			}
		}
		return map[string]any{"entries": entries, "unreadable": unreadable}, nil
	})
}

// Jobs answers the jobs, the one with the oldest success first.
func (p *Past) Jobs(w http.ResponseWriter, r *http.Request) error {
	f, err := newFilter(r, "problems")
	if err != nil {
		return err
	}
	return p.read(w, r, func(ctx context.Context) (any, error) {
		all, unreadable, err := view.Jobs(ctx, p.admin, cmp.Or(f.name, f.prefix))
		if err != nil {
			return nil, err
		}
		jobs := []view.Job{}
		for _, j := range all {
			if len(jobs) < f.limit && (f.name == "" || j.Name == f.name) && (!f.problems || j.State.Problem()) {
				jobs = append(jobs, view.NewJob(j))
			}
		}
		return map[string]any{"jobs": jobs, "unreadable": unreadable}, nil
	})
}
