package dashboard_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// written is a journal that says what it holds, the newest first, and never more.
type written []journal.Entry

func (j written) Read(_ context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		n := 0
		for _, e := range j {
			if (q.Name == "" || q.Name == e.Name) && (q.Event == "" || q.Event == e.Event) && !e.At.Before(q.Since) && (q.Limit == 0 || n < q.Limit) {
				if n++; !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (written) Follow(ctx context.Context, _ journal.Query) iter.Seq2[journal.Entry, error] {
	return func(func(journal.Entry, error) bool) { <-ctx.Done() }
}

type brokenJournal struct{}

// slowJournal takes its time to be read, and counts how often.
type slowJournal struct {
	written
	takes time.Duration
	asked *atomic.Int64
}

func (j slowJournal) Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	if q.Name != "" {
		j.asked.Add(1)
		time.Sleep(j.takes)
	}
	return j.written.Read(ctx, q)
}

func (brokenJournal) Read(context.Context, journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		yield(journal.Entry{}, errors.New("no journal today"))
	}
}

func (j brokenJournal) Follow(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	return j.Read(ctx, q)
}

// countingStore counts what is asked of it.
type countingStore struct {
	driver.Store
	evals, scans atomic.Int64
}

func (s *countingStore) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.evals.Add(1)
	return s.Store.Eval(ctx, call)
}

func (s *countingStore) Scan(ctx context.Context, pattern string) iter.Seq2[string, error] {
	s.scans.Add(1)
	return s.Store.Scan(ctx, pattern)
}

func (written) Hours(context.Context) ([]journal.Hour, int, error) { return nil, 0, nil }

func (brokenJournal) Hours(context.Context) ([]journal.Hour, int, error) {
	return nil, 0, errors.New("no hours today")
}

func (written) Jobs(context.Context) ([]journal.Job, int, error) {
	now := time.Now()
	return []journal.Job{{
		Name: "nightly", Owner: "web-1:77", Now: now, Tried: now.Add(-time.Hour), Started: now.Add(-time.Hour), Ended: now.Add(-50 * time.Minute),
		Code: 3, Took: 10 * time.Minute, Skipped: 2,
	}}, 0, nil
}

func (brokenJournal) Jobs(context.Context) ([]journal.Job, int, error) {
	return nil, 0, errors.New("no jobs today")
}
