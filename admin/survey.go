package admin

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Survey has the states of several names.
type Survey struct {
	Names []Surveyed // sorted by name
}

// ErrTooMany is the error of a Survey if there are more names than its limit.
var ErrTooMany = errors.New("holdfast: too many names: list some with holdfast ls PREFIX")

// Surveyed is one name in a [Survey].
type Surveyed struct {
	*State       // never nil; has only Name if Err is not nil
	Err    error // reason for which it could not be inspected: a ServerError or ErrUnreachable
}

const (
	surveyListed = 100 // holders and waiters that are listed of each name
	surveyAtOnce = 16  // names of a quorum that are inspected at a time
	maxAround    = 32  // names that one Around inspects
)

// Reader is what an [Admin] and a [Quorum] have in common.
type Reader interface {
	Inspect(ctx context.Context, name string) (*State, error)
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]
	Survey(ctx context.Context, prefix string, limit int) (*Survey, error)
}

// MayBeHeldBy inspects a name, and reports whether the Client with this
// [holdfast.Client.ID] may hold it. A name that no lock can have, or whose keys hold
// something else, has no holder. If the server refuses to read it, the Client may hold it.
//
// Errors: [holdfast.ErrUnreachable], or the error of ctx.
func MayBeHeldBy(ctx context.Context, r Reader, name, client string) (bool, error) {
	state, err := r.Inspect(ctx, name)
	_, impossible := errors.AsType[*holdfast.NameError](err)
	switch {
	case impossible, wire.Unwritten(err):
		return false, nil
	case errors.Is(err, holdfast.ErrUnreachable), ctx.Err() != nil:
		return false, cmp.Or(err, ctx.Err())
	}
	return err != nil || state.HeldBy(client), nil
}

// survey lists the names with a prefix, and lets inspect fill in the rest.
func survey(ctx context.Context, r Reader, prefix string, limit int, inspect func(context.Context, []Surveyed)) (*Survey, error) {
	var names []string
	for name, err := range r.Names(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		if limit > 0 && len(names) == limit {
			return nil, ErrTooMany
		}
		names = append(names, name)
	}
	slices.Sort(names)
	s := &Survey{Names: make([]Surveyed, len(names))}
	for i, name := range names {
		s.Names[i].State = &State{Name: name}
	}
	inspect(ctx, s.Names)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(names) > 0 && !slices.ContainsFunc(s.Names, func(n Surveyed) bool { return !errors.Is(n.Err, holdfast.ErrUnreachable) }) {
		return nil, s.Names[0].Err
	}
	return s, nil
}

// around returns the names that those behind from lead to, as far as there is room.
func around(names []Surveyed, from int) (next []Surveyed) {
	seen := map[string]bool{"": true}
	for _, n := range names {
		seen[n.Name] = true
	}
	add := func(d *holdfast.Details) {
		if d != nil && !seen[d.Within] && len(names)+len(next) < maxAround {
			seen[d.Within] = true
			next = append(next, Surveyed{State: &State{Name: d.Within}})
		}
	}
	for _, n := range names[from:] {
		for _, h := range n.allHolders() {
			add(h.Details)
		}
		for i := range n.Waiters {
			add(n.Waiters[i].Details)
		}
	}
	return next
}
