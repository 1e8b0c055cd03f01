package dashboard

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast"
)

// sight is what one look saw.
type sight struct {
	locks      []*lock // sorted by name
	unreadable int     // of them: names that the server would not show
}

// surveyor looks at all names below a prefix.
func surveyor(client *holdfast.Client, prefix string) func(context.Context) (*sight, error) {
	return func(ctx context.Context) (*sight, error) {
		began := time.Now()
		survey, err := client.Survey(ctx, prefix)
		if err != nil {
			return nil, err
		}
		ended := time.Now()
		// The look took its time: of each name the answer is as old as the server's clock
		// says, beside the newest.
		var newest time.Time
		for i := range survey.Names {
			if at := survey.Names[i].At; at.After(newest) {
				newest = at
			}
		}
		s := &sight{unreadable: survey.Counts.Unreadable, locks: make([]*lock, len(survey.Names))}
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
}

// level is how much a finding matters.
type level string

const (
	bad  level = "trouble" // somebody should act
	warn level = "watch"   // it may become trouble
	note level = "note"    // worth knowing
	fine level = "fine"
)

// finding is a Diagnosis as it is shown.
type finding struct {
	Level            level
	Code             string
	Sentence, Action string
}

func newFinding(d holdfast.Diagnosis) finding {
	f := finding{Level: note, Code: string(d.Code), Sentence: visible(d.Sentence), Action: visible(d.Action)}
	switch {
	case d.Code == holdfast.CodeHeldHealthy:
		f.Level = fine
	case d.Code == holdfast.CodeRenewalsLate, d.Code == holdfast.CodeHeldLong, d.Code == holdfast.CodeReadersBlockWriter:
		f.Level = warn
	case d.Code.Problem():
		f.Level = bad
	}
	return f
}

func newLock(n *holdfast.Surveyed, seen time.Time) *lock {
	l := &lock{State: n.State, seen: seen, unreadable: n.Err != nil}
	for _, d := range n.Reasons {
		if f := newFinding(d); f.Level == fine {
			l.healthy = f.Sentence
		} else {
			l.findings = append(l.findings, f)
		}
	}
	return l
}

// claim is how long a pushed grant lives until its first renewal.
const claim = 2 * time.Second

// life is what a tenure has from one renewal to the next: its ttl, or at first the
// claim window.
func life(h *holdfast.Holder) time.Duration {
	if w := min(h.TTL, claim); h.Remaining <= w && h.Held < w {
		return w
	}
	return h.TTL
}
