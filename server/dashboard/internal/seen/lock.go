package seen

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// Lock is what was last seen of one name. It is not changed once made.
type Lock struct {
	*admin.State
	Seen     time.Time // our clock, when it was so
	Refused  bool      // the server did not show it: there is only a name
	Healthy  string    // what is to be said where all is well
	Findings []Finding // what else, the worst first
}

// Level is how much a finding matters.
type Level string

// The levels.
const (
	Bad  Level = "trouble" // somebody should act
	Warn Level = "watch"   // it may become trouble
	Note Level = "note"    // worth knowing
)

// Rank sorts levels, the worst first.
func (l Level) Rank() int { return slices.Index([]Level{Bad, Warn, Note}, l) }

// Finding is a Diagnosis as it is shown.
type Finding struct {
	Level            Level
	Code             string
	Sentence, Action string
}

func newLock(n *diagnose.Name, seen time.Time) *Lock {
	l := &Lock{State: n.State, Seen: seen, Refused: n.Err != nil}
	for _, d := range n.Reasons {
		f := Finding{Note, string(d.Code), view.Text(d.Sentence), view.Text(d.Action)}
		switch {
		case d.Code == diagnose.HeldHealthy:
			l.Healthy = f.Sentence
			continue
		case d.Code == diagnose.RenewalsLate, d.Code == diagnose.HeldLong, d.Code == diagnose.ReadersBlockWriter:
			f.Level = Warn
		case d.Code.Problem():
			f.Level = Bad
		}
		l.Findings = append(l.Findings, f)
	}
	return l
}

// Holding are all that hold the name; one in cool-down is none.
func (l *Lock) Holding() []admin.Holder {
	if len(l.Holders) == 0 && l.Held() {
		return []admin.Holder{*l.Holder}
	}
	return l.Holders
}

// Held reports whether the name is held.
func (l *Lock) Held() bool { return l.Holder != nil && !l.Holder.Cooldown }

// KindName is the kind of the name, as people know it.
func (l *Lock) KindName() string { return view.KindName(l.State) }

// Active reports whether the name is more than free.
func (l *Lock) Active() bool { return l.Holder != nil || l.Waiting > 0 || l.Refused }

// Worst is the first finding that is more than a note.
func (l *Lock) Worst() *Finding {
	if len(l.Findings) == 0 || l.Findings[0].Level == Note {
		return nil
	}
	return &l.Findings[0]
}

// Matches reports whether the filter is in the name or in a label.
func (l *Lock) Matches(filter string) bool {
	return show.Contains(l.Name, filter) ||
		l.Holder != nil && show.Contains(l.Holder.Owner, filter) ||
		slices.ContainsFunc(l.Holding(), func(h admin.Holder) bool { return says(h.Owner, h.Details, filter) }) ||
		slices.ContainsFunc(l.Waiters, func(w admin.Waiter) bool { return says(w.Owner, w.Details, filter) })
}

// says looks for the filter in a label and in what stands behind it.
func says(owner string, d *holdfast.Details, filter string) bool {
	about := cmp.Or(d, &holdfast.Details{})
	return slices.ContainsFunc([]string{owner, about.Host, about.User, about.Command, about.Note}, func(text string) bool { return show.Contains(text, filter) })
}

// HeldFor is how long the holder had held it; 0: not known.
func (l *Lock) HeldFor() time.Duration {
	if l.Holder == nil {
		return 0
	}
	return l.Holder.Held
}

// Granted is when a mutex was granted to its holder; else when that was seen.
func (l *Lock) Granted() time.Time {
	if h := l.Holder; h != nil && l.Kind == holdfast.KindMutex && h.Held > 0 {
		return l.Seen.Add(-h.Held)
	}
	return l.Seen
}
