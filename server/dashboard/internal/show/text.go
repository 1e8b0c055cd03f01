// Package show writes durations, times, numbers and labels for people.
package show

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
)

// Length is a duration for people: "4.2 s", "42 s", "12m 05s", "3h 20m", "2d 4h".
// times.js writes the same.
func Length(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 0.0005:
		return "0 s"
	case s < 0.9995:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 59.5:
		return fmt.Sprintf("%.0f s", s)
	}
	whole := int64(math.Round(s))
	switch {
	case whole < 3600:
		return fmt.Sprintf("%dm %02ds", whole/60, whole%60)
	case whole < 48*3600:
		return fmt.Sprintf("%dh %02dm", whole/3600, whole/60%60)
	}
	return fmt.Sprintf("%dd %dh", whole/86400, whole/3600%24)
}

// Stamp is a moment as a page shows it: how long ago, and in its title when.
type Stamp struct {
	ISO   string
	MS    int64 // how long ago, in milliseconds
	Title string
	Text  string
}

// Ago is a moment of our clock; nil: there is none.
func Ago(t time.Time) *Stamp {
	if t.IsZero() {
		return nil
	}
	since := time.Since(t)
	text := Length(since) + " ago"
	if since < time.Second {
		text = "just now"
	}
	return &Stamp{t.UTC().Format("2006-01-02T15:04:05.000Z"), since.Milliseconds(), t.UTC().Format("2006-01-02 15:04:05.000 UTC"), text}
}

// Plural is "1 name", "2 names".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		what += "e"
	}
	return Thousands(n) + " " + what + "s"
}

// Thousands is a number with separators.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Label is an owner.
func Label(owner string) string { return view.Text(cmp.Or(owner, "(no label)")) }

// Owner is what people call a holder.
func Owner(h *admin.Holder) string {
	switch {
	case h == nil:
		return ""
	case h.Version > 0:
		return fmt.Sprintf("(protocol %d)", h.Version)
	case h.Owner == "" && h.Foreign:
		return "(not holdfast)"
	}
	return Label(h.Owner)
}

// Contains looks for a filter in text as it is and as it is shown.
func Contains(text, filter string) bool {
	filter = strings.ToLower(filter)
	return strings.Contains(strings.ToLower(text), filter) || strings.Contains(strings.ToLower(view.Text(text)), filter)
}
