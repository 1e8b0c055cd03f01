package seen

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// sight is what one look saw.
type sight struct {
	locks      []*Lock // sorted by name
	unreadable int     // of them: names that the server would not show
}

// Surveyor looks at all names below a prefix.
type Surveyor interface {
	Survey(ctx context.Context, prefix string) (*admin.Survey, error)
}

func look(ctx context.Context, from Surveyor, prefix string) (*sight, error) {
	began := time.Now()
	found, err := from.Survey(ctx, prefix)
	if err != nil {
		return nil, err
	}
	ended := time.Now()
	survey := diagnose.Survey(found, nil)
	// The look took its time: of each name the answer is as old as the server's clock
	// says, beside the newest.
	var newest time.Time
	for i := range survey.Names {
		if at := survey.Names[i].At; at.After(newest) {
			newest = at
		}
	}
	s := &sight{unreadable: survey.Counts.Unreadable, locks: make([]*Lock, len(survey.Names))}
	for i := range survey.Names {
		n := &survey.Names[i]
		seen := ended.Add(-newest.Sub(n.At))
		if n.At.IsZero() || seen.Before(began) {
			seen = began
		}
		s.locks[i] = newLock(n, seen)
	}
	return s, nil
}
