package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// stream sends the number of each newer picture; the page then loads itself again. So pages are
// made in one place, with and without JavaScript.
func stream(w http.ResponseWriter, r *http.Request, sampler *seen.Sampler) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // where the server has one; a client that is gone ends the request
	_, _ = fmt.Fprint(w, "retry: 1000\n\n")   // Flush says whether the client is still there
	var sent int64
	for {
		p, fresh := sampler.Touch()
		if p.Number != sent {
			sent = p.Number
			_, _ = fmt.Fprintf(w, "event: picture\ndata: %d\n\n", sent)
			if control.Flush() != nil {
				return
			}
		}
		select {
		case <-fresh:
		case <-r.Context().Done():
			return
		}
	}
}
