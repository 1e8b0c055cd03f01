package pages

import (
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// leaseBar shows the rest of a lease. While its holder renews on time, the bar counts to the
// next renewal: a lease that is prolonged before it ends is no reason to worry. If the renewal
// is late, the bar counts to the end of the lease.
type leaseBar struct {
	Class    string // "ok", "low" or "out", after the codes of package diagnose; empty: there is no bar
	Percent  int
	Text     string
	NoExpiry bool
}

// newBar is the bar of a holder of a lock; nil: there is no holder.
func newBar(l *seen.Lock, h *admin.Holder) *leaseBar {
	if h == nil {
		return nil
	}
	if h.Remaining < 0 {
		return &leaseBar{NoExpiry: true}
	}
	r, ends := diagnose.RenewalOf(l.State, h), "ends in "+show.Length(h.Remaining)
	percent := func(a, b int64) int { return int(100 * a / max(b, 1)) }
	switch {
	case r.Every == 0:
		return &leaseBar{Text: ends}
	case r.Late == diagnose.Expiring:
		return &leaseBar{Class: "out", Percent: percent(int64(h.Remaining), int64(r.Every)), Text: ends}
	case r.Late != "":
		return &leaseBar{Class: "low", Percent: percent(int64(h.Remaining), int64(r.Every)), Text: "late, " + ends}
	case r.Due < 0:
		return &leaseBar{Class: "ok", Text: "renewal is due"}
	}
	return &leaseBar{Class: "ok", Percent: percent(int64(r.Due), int64(r.Every)), Text: "renews in " + show.Length(r.Due)}
}

// timeLeft returns the rest of a holder's ttl as text; empty: its bar shows all that is known.
func timeLeft(l *seen.Lock, h *admin.Holder) string {
	r := diagnose.RenewalOf(l.State, h)
	switch left := show.Length(h.Remaining); {
	case h.TTL == 0 || h.Remaining < 0:
		return ""
	case r.Every > 0 && r.Every < h.TTL/3 && r.Late == "":
		return left + ", and " + show.Length(h.TTL) + " from its first renewal on"
	default:
		return left + " of " + show.Length(h.TTL)
	}
}

// partOf says what one has or wants of a shared lock.
func partOf(p admin.Part) string {
	switch {
	case p.Permits > 0:
		return show.Plural(p.Permits, "permit")
	case p.Reads:
		return "reads"
	case p.Writes:
		return "writes"
	}
	return ""
}
