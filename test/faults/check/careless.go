package check

import (
	"fmt"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Careless wants that the register without a fence lost no update, not even by writers that did
// not hold. No lock can promise that: a process may stop between its last check and its write.
func Careless(h *History, _ Rules) (found []Violation) {
	for _, e := range h.Events {
		if (e.What == history.Accept || e.What == history.Refuse) && e.FreeOf != e.Free-1 {
			found = append(found, Violation{"careless", fmt.Sprintf("%s: write %d, of token %d, knew version %d only", e.Name, e.Free, e.Token, e.FreeOf), []history.Event{e}})
		}
	}
	return found
}
