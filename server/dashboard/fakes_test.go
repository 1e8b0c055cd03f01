package dashboard_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// journal is one that says what it holds, the newest first, and never more.
type journal []dashboard.Entry

func (j journal) Recent(_ context.Context, name string, limit int) ([]dashboard.Entry, error) {
	var found []dashboard.Entry
	for _, e := range j {
		if (name == "" || name == e.Name) && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, nil
}

func (journal) Follow(ctx context.Context) iter.Seq2[dashboard.Entry, error] {
	return func(func(dashboard.Entry, error) bool) { <-ctx.Done() }
}

type brokenJournal struct{}

func (brokenJournal) Recent(context.Context, string, int) ([]dashboard.Entry, error) {
	return nil, errors.New("no journal today")
}

func (brokenJournal) Follow(context.Context) iter.Seq2[dashboard.Entry, error] {
	return func(yield func(dashboard.Entry, error) bool) {
		yield(dashboard.Entry{}, errors.New("no journal today"))
	}
}

// countingStore counts what is asked of it.
type countingStore struct {
	holdfast.Store
	evals, scans atomic.Int64
}

func (s *countingStore) Eval(ctx context.Context, call holdfast.Call) ([]string, error) {
	s.evals.Add(1)
	return s.Store.Eval(ctx, call)
}

func (s *countingStore) Scan(ctx context.Context, pattern string) iter.Seq2[string, error] {
	s.scans.Add(1)
	return s.Store.Scan(ctx, pattern)
}
