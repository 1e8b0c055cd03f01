package pages

import (
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// ttlBar is how much of a tenure's time is left; times.js lets it run down.
type ttlBar struct {
	Left    time.Duration // negative: no expiry
	TTL     time.Duration // 0: not known
	Percent int
}

// newBar is the bar of a holder as it was seen at a moment; nil: nobody holds the name.
func newBar(h *admin.Holder, at time.Time) *ttlBar {
	if h == nil {
		return nil
	}
	b := &ttlBar{Left: h.Remaining, TTL: seen.EffectiveTTL(h)}
	if b.Left < 0 {
		return b
	}
	b.Left = max(0, b.Left-time.Since(at))
	if b.TTL > 0 {
		b.Percent = int(min(100, 100*b.Left/b.TTL))
	}
	return b
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
