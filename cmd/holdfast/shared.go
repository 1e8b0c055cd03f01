package main

import (
	"fmt"

	"github.com/holdfast-go/holdfast"
)

// useText says how a name of a shared kind is used.
func useText(state *holdfast.State) string {
	switch {
	case state.Kind == holdfast.KindSemaphore && state.Used > state.Size:
		return fmt.Sprintf("%s, size %d", several(state.Used, "permit"), state.Size)
	case state.Kind == holdfast.KindSemaphore:
		return fmt.Sprintf("%d of %d permits", state.Used, state.Size)
	case state.Holder != nil && state.Holder.Part.Writes:
		return "a writer"
	}
	if state.Kind != holdfast.KindRWMutex { // of another program
		return several(state.Holding, "holder")
	}
	return several(state.Holding, "reader")
}

func partText(p holdfast.Part) string {
	switch {
	case p.Reads:
		return "a reader"
	case p.Writes:
		return "a writer"
	case p.Permits > 0:
		return several(p.Permits, "permit")
	}
	return ""
}

func wantsText(p holdfast.Part) string {
	switch {
	case p.Permits > 0:
		return ", wants " + partText(p)
	case p.Reads, p.Writes:
		return ", wants to be " + partText(p)
	}
	return ""
}

// holdersText names the holders of a name in one cell.
func holdersText(state *holdfast.State) string {
	text := holderName(state.Holder)
	if state.Holder == nil && state.Size > 0 {
		return fmt.Sprintf("%s (of %s)", text, partText(holdfast.Part{Permits: state.Size}))
	}
	if state.Kind == holdfast.KindMutex || state.Holder == nil {
		return text
	}
	if state.Holding > 1 {
		text += fmt.Sprintf(" and %d more", state.Holding-1)
	}
	return text + " (" + useText(state) + ")"
}
