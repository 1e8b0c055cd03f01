package pages

import (
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// lockRow is a lock in a table.
type lockRow struct {
	Name    string
	Kind    string // "" of a mutex
	Term    int64
	State   string // held, free, cooldown, unreadable
	Owner   string // "" where nobody holds it
	Others  string // "and 3 more", of a shared kind
	Bar     *ttlBar
	Waiting int
	Problem *seen.Finding
	since
}

// since is for how long something has been so; times.js lets it run.
type since struct {
	Held   string // "" where not known
	HeldMS int64
}

func newSince(d time.Duration) since { return since{show.Length(d), d.Milliseconds()} }

func newRow(l *seen.Lock) lockRow {
	row := lockRow{Name: l.Name, Term: l.Term, State: "free", Waiting: l.Waiting, Problem: l.Worst()}
	if kind := view.KindName(l.State); kind != string(holdfast.KindMutex) {
		row.Kind = kind
	}
	h := l.Holder
	switch {
	case l.Refused:
		row.State = "unreadable"
		return row
	case h == nil:
		return row
	case h.Cooldown:
		row.State, row.Owner = "cooldown", "in cool-down after "+show.Owner(h)
	default:
		row.State, row.Owner = "held", show.Owner(h)
	}
	if l.State.Holding > 1 {
		row.Others = "and " + show.Thousands(l.State.Holding-1) + " more"
	}
	if h.Held > 0 && !h.Cooldown {
		row.since = newSince(l.HeldFor())
	}
	row.Bar = newBar(h, l.Seen)
	return row
}

// ttlBar is how much of a tenure's time is left; times.js lets it run down.
type ttlBar struct {
	Left    time.Duration // negative: no expiry
	TTL     time.Duration // 0: not known
	Percent int
	Class   string // ok, low or out
}

func newBar(h *admin.Holder, at time.Time) *ttlBar {
	b := &ttlBar{Left: h.Remaining, TTL: seen.Life(h)}
	if b.Left < 0 {
		return b
	}
	b.Left = max(0, b.Left-time.Since(at))
	if b.TTL > 0 {
		b.Percent = int(min(100, 100*b.Left/b.TTL))
	}
	switch {
	case b.Percent >= 50:
		b.Class = "ok"
	case b.Percent >= 17:
		b.Class = "low"
	default:
		b.Class = "out"
	}
	return b
}
