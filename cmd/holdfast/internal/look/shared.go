package look

import (
	"fmt"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// UseText says how a name of a shared kind is used.
func UseText(state *admin.State) string {
	switch {
	case state.Kind == holdfast.KindSemaphore && state.Used > state.Size:
		return fmt.Sprintf("%s, size %d", console.Several(state.Used, "permit"), state.Size)
	case state.Kind == holdfast.KindSemaphore:
		return fmt.Sprintf("%d of %d permits", state.Used, state.Size)
	case state.Holder != nil && state.Holder.Part.Writes:
		return "a writer"
	}
	if state.Kind != holdfast.KindRWMutex { // of another program
		return console.Several(state.Holding, "holder")
	}
	return console.Several(state.Holding, "reader")
}

// PartText is what a holder has of a shared kind; empty: it is a mutex.
func PartText(p admin.Part) string {
	switch {
	case p.Reads:
		return "a reader"
	case p.Writes:
		return "a writer"
	case p.Permits > 0:
		return console.Several(p.Permits, "permit")
	}
	return ""
}

func wantsText(p admin.Part) string {
	switch {
	case p.Permits > 0:
		return ", wants " + PartText(p)
	case p.Reads, p.Writes:
		return ", wants to be " + PartText(p)
	}
	return ""
}

// holdersText names the holders of a name in one cell.
func holdersText(state *admin.State) string {
	text := HolderName(state.Holder)
	if state.Holder == nil && state.Size > 0 {
		return fmt.Sprintf("%s (of %s)", text, PartText(admin.Part{Permits: state.Size}))
	}
	if state.Kind == holdfast.KindMutex || state.Holder == nil {
		return text
	}
	if state.Holding > 1 {
		text += fmt.Sprintf(" and %d more", state.Holding-1)
	}
	return text + " (" + UseText(state) + ")"
}
