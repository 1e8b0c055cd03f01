package seen

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/internal/view"
)

// survey makes a picture of all names below a prefix.
func survey(ctx context.Context, from admin.Reader, prefix string, known *diagnose.Options) (*Picture, error) {
	began := time.Now()
	found, err := from.Survey(ctx, prefix, view.MaxNames)
	if err == nil {
		err = doctor.HidesWaiters(ctx, from, found)
	}
	if err != nil {
		return nil, err
	}
	ended := time.Now()
	survey := diagnose.Survey(found, known)
	// The look took its time: of each name the answer is as old as the server's clock
	// says, beside the newest.
	var newest time.Time
	for i := range survey.Names {
		if at := survey.Names[i].At; at.After(newest) {
			newest = at
		}
	}
	p := &Picture{Unreadable: survey.Counts.Unreadable, Locks: make([]*Lock, len(survey.Names)), ByName: make(map[string]*Lock), At: ended, Took: ended.Sub(began)}
	if !newest.IsZero() {
		p.Ahead = ended.Sub(newest)
	}
	for i := range survey.Names {
		n := &survey.Names[i]
		seen := ended.Add(-newest.Sub(n.At))
		if n.At.IsZero() || seen.Before(began) {
			seen = began
		}
		p.Locks[i] = newLock(n, seen)
		p.ByName[n.Name] = p.Locks[i]
	}
	return p, nil
}
