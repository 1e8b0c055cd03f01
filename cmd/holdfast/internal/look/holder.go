package look

import (
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
)

// HolderText is "held by ci-7 (alice, pid 4121) for 3m12s, renews on time", "held by
// ci-7 and 1 more (3 of 3 permits), renews on time", or "in cool-down after ci-7 for
// 12m more". In brief it leaves out what is as it should be.
func HolderText(state *admin.State, brief bool, known *diagnose.Options) string {
	h := state.Holder
	if h.Cooldown {
		return "in cool-down after " + view.Text(h.Owner) + " for " + console.Age(h.Remaining) + " more"
	}
	text := "held by " + holdersText(state)
	if !brief && state.Kind == holdfast.KindMutex && !h.Foreign && h.Owner != "" {
		text = "held by " + view.Text(h.Describe())
	}
	if h.Held > 0 {
		text += " for " + console.Age(h.Held)
	}
	return text + renewsText(state, brief, known)
}

// renewsText says in few words how the holder does.
func renewsText(state *admin.State, brief bool, known *diagnose.Options) (text string) {
	words := map[diagnose.Code]string{
		diagnose.NoTTL: "without expiry", diagnose.Expiring: "does not renew any more",
		diagnose.RenewalsLate: "renews late", diagnose.HeldLong: "longer than usual",
		diagnose.Revoking: "is asked to stop", diagnose.HeldHealthy: "renews on time",
	}
	for _, d := range diagnose.State(state, known) {
		switch word := words[d.Code]; {
		case state.Holder.Exported && d.Code == diagnose.HeldHealthy:
			text += ", lasts " + console.Age(state.Holder.Remaining) + " more unless renewed by hand"
		case word != "" && (!brief || d.Code != diagnose.HeldHealthy):
			text += ", " + word
		}
	}
	return text
}

// WaitersText is "; 2 waiters in the queue", or nothing if the queue is empty.
func WaitersText(state *admin.State) string {
	if state.Waiting == 0 {
		return ""
	}
	return "; " + console.Several(state.Waiting, "waiter") + " in the queue"
}
