package dashboard

import (
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// lock is what was last seen of one name. It is not changed once made.
type lock struct {
	*holdfast.State
	seen       time.Time // our clock, when it was so
	unreadable bool      // the server did not show it: there is only a name
	healthy    string    // what is to be said where all is well
	findings   []finding // what else, the worst first
}

// holders are all that hold the name; who only rests is none.
func (l *lock) holders() []holdfast.Holder {
	switch {
	case len(l.Holders) > 0:
		return l.Holders
	case l.Holder != nil && !l.Holder.Cooldown:
		return []holdfast.Holder{*l.Holder}
	}
	return nil
}

func (l *lock) held() bool   { return l.Holder != nil && !l.Holder.Cooldown }
func (l *lock) active() bool { return l.Holder != nil || l.Waiting > 0 || l.unreadable }

// worst is the first finding that is more than a note.
func (l *lock) worst() *finding {
	if len(l.findings) == 0 || l.findings[0].Level == note {
		return nil
	}
	return &l.findings[0]
}

// matches reports whether the filter is in the name or in a label.
func (l *lock) matches(filter string) bool {
	if filter == "" || contains(l.Name, filter) {
		return true
	}
	for _, h := range l.holders() {
		if says(h.Owner, h.Details, filter) {
			return true
		}
	}
	for _, w := range l.Waiters {
		if says(w.Owner, w.Details, filter) {
			return true
		}
	}
	return l.Holder != nil && contains(l.Holder.Owner, filter)
}

// says looks for the filter in a label and in what stands behind it.
func says(owner string, d *holdfast.Details, filter string) bool {
	return contains(owner, filter) || d != nil && (contains(d.Host, filter) || contains(d.User, filter) || contains(d.Command, filter) || contains(d.Note, filter))
}

// contains looks for the filter in text as it is and as it is shown.
func contains(text, filter string) bool {
	filter = strings.ToLower(filter)
	return strings.Contains(strings.ToLower(text), filter) || strings.Contains(strings.ToLower(visible(text)), filter)
}

// ownerName is what people call a holder.
func ownerName(h *holdfast.Holder) string {
	switch {
	case h == nil:
		return ""
	case h.Owner != "":
		return visible(h.Owner)
	case h.Foreign:
		return "(not holdfast)"
	}
	return "(no label)"
}

func labelOf(owner string) string {
	if owner == "" {
		return "(no label)"
	}
	return visible(owner)
}
