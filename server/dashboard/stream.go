package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// stream tells that there is a newer picture, with its number; the page then fetches
// itself. So what is shown is made in one place, with and without JavaScript.
func stream(w http.ResponseWriter, r *http.Request, sampler *seen.Sampler) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // where the server has one; a client that is gone ends the request
	_, _ = fmt.Fprint(w, "retry: 1000\n\n")   // Flush says whether the client is still there
	var told int64
	for {
		p, fresh := sampler.Touch()
		if p.Number != told {
			told = p.Number
			_, _ = fmt.Fprintf(w, "event: picture\ndata: %d\n\n", told)
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
