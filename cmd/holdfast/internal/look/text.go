package look

import (
	"cmp"
	"fmt"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
)

// HolderName is what people call the holder.
func HolderName(h *admin.Holder) string {
	switch {
	case h == nil:
		return "-"
	case h.Cooldown:
		return fmt.Sprintf("(cool-down after %s)", view.Text(h.Owner))
	case h.Foreign:
		return cmp.Or(view.Text(h.Owner), "(not holdfast)")
	}
	return cmp.Or(view.Text(h.Owner), "(no label)")
}

// HeldText is how long a name has been held.
func HeldText(h *admin.Holder) string {
	if h == nil || h.Held <= 0 {
		return "-"
	}
	return console.Age(h.Held)
}

// RemainingText is how long the lease lasts.
func RemainingText(h *admin.Holder) string {
	switch {
	case h == nil:
		return "-"
	case h.Remaining < 0:
		return "no expiry"
	}
	return console.Age(h.Remaining)
}

// LeftText is "6s of 15s left", or less if less is known.
func LeftText(h *admin.Holder) string {
	switch {
	case h.Remaining < 0:
		return "no expiry"
	case h.TTL <= 0:
		return RemainingText(h) + " left"
	}
	return RemainingText(h) + " of " + console.Age(h.TTL) + " left"
}

// TokenText is a token, or - if there is none.
func TokenText(token int64) string {
	if token == 0 {
		return "-"
	}
	return fmt.Sprint(token)
}

// waiterName is the label of a waiter, with the details of its process.
func waiterName(w admin.Waiter) string {
	if w.Owner == "" {
		return "(no label)"
	}
	return view.Text(w.Describe())
}
