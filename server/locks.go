package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

const (
	defaultPage = 100
	maxPage     = 1000
	lookAtMost  = 2000 // names that one page may look at to find those that are held
	lookAtOnce  = 16
)

// page is the answer of list.
type page struct {
	Locks []*stateJSON `json:"locks"`
	Next  *string      `json:"next"` // give it as after; null: there are no more
}

// list answers what is held or waited for, by name.
func (a *API) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, all := defaultPage, false
	for key, values := range q {
		var err error
		switch key {
		case "prefix", "after":
		case "limit":
			if limit, err = strconv.Atoi(values[0]); err != nil || limit < 1 || limit > maxPage {
				newProblem(http.StatusBadRequest, "bad-request", "limit must be a number from 1 to %d", maxPage).write(w)
				return
			}
		case "all":
			if all, err = strconv.ParseBool(values[0]); err != nil {
				newProblem(http.StatusBadRequest, "bad-request", "all must be true or false").write(w)
				return
			}
		default:
			newProblem(http.StatusBadRequest, "bad-request", "there is no parameter %.50q: there are prefix, after, limit and all", key).write(w)
			return
		}
	}
	ctx, leave, err := a.store.enter(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	found, err := a.page(ctx, q.Get("prefix"), q.Get("after"), limit, all)
	if err != nil {
		problemOf(because(ctx, err)).write(w)
		return
	}
	answer(w, http.StatusOK, found)
}

func (a *API) page(ctx context.Context, prefix, after string, limit int, all bool) (*page, error) {
	names, err := a.names.get(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.HasPrefix(name, prefix) || name <= after
	})
	out, looked := &page{Locks: []*stateJSON{}}, 0
	for part := range slices.Chunk(names, lookAtOnce) {
		states, err := a.lookAt(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			looked++
			if s != nil && (all || s.Holder != nil || s.Waiting > 0) {
				out.Locks = append(out.Locks, s)
			}
			if (len(out.Locks) == limit || looked == lookAtMost) && looked < len(names) {
				out.Next = new(names[looked-1])
				return out, nil
			}
		}
	}
	return out, nil
}

// lookAt looks at several names at once. Those that the store will not show are nil.
func (a *API) lookAt(ctx context.Context, names []string) ([]*stateJSON, error) {
	states, errs := make([]*stateJSON, len(names)), make([]error, len(names))
	done := make(chan struct{})
	for i, name := range names {
		go func() {
			states[i], errs[i] = a.look(ctx, name, false)
			done <- struct{}{}
		}()
	}
	for range names {
		<-done
	}
	for _, err := range errs {
		if _, said := errors.AsType[holdfast.ServerError](err); err != nil && !said {
			return nil, err
		}
	}
	return states, nil
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

// names remembers for a moment which names there are: finding them walks the whole
// keyspace, and pages are asked for one after the other.
type names struct {
	client *holdfast.Client
	turn   chan struct{} // one at a time
	list   []string
	at     time.Time
}

const (
	namesLast = 2 * time.Second
	maxNames  = 200_000
)

func newNames(client *holdfast.Client) *names {
	return &names{client: client, turn: make(chan struct{}, 1)}
}

func (n *names) get(ctx context.Context) ([]string, error) {
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if time.Since(n.at) < namesLast {
		return n.list, nil
	}
	var list []string
	for name, err := range n.client.Names(ctx, "") {
		if err != nil {
			return nil, err
		}
		if list = append(list, name); len(list) == maxNames {
			break
		}
	}
	slices.Sort(list)
	n.list, n.at = list, time.Now()
	return list, nil
}
