package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
)

// API is the http.Handler of the API. Make it with [Handler], and close it.
type API struct {
	client  *holdfast.Client
	options Options
	mux     *http.ServeMux
	guard   *http.CrossOriginProtection
	store   *outage
	surveys *surveys
	repeats *repeats

	terraform *repeats // of LOCK

	waiting *crowd // requests for a lease, which may wait: apart, so that they keep no renewal out
	busy    *crowd // other requests
	open    *crowd // streams
	streams atomic.Int64
	life    context.Context // ends when streams are to end
	close   func()
}

// Handler makes the API of a Client. Mount it under Options.BasePath. It
// returns an error if options are out of range. Set Options.Details of the
// Client, which may be empty. Then Inspect and "holdfast show" report that no
// process renews a lease by request.
func Handler(client *holdfast.Client, options *Options) (*API, error) {
	if client == nil {
		panic("server: Handler needs a Client")
	}
	v, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	a := &API{
		client: client, options: v, mux: http.NewServeMux(), guard: http.NewCrossOriginProtection(),
		store: newOutage(client, life.Done()), surveys: newSurveys(client), repeats: newRepeats(false), terraform: newRepeats(true),
		waiting: newCrowd(v.MaxRequests), busy: newCrowd(v.MaxRequests), open: newCrowd(v.MaxStreams), life: life, close: end,
	}
	a.routes()
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if err := a.checkHost(r); err != nil {
		err.write(w)
		return
	}
	if err := a.guard.Check(r); err != nil {
		newProblem(http.StatusForbidden, "cross-origin", "a web page of another site sent this request: %v", err).write(w)
		return
	}
	base := a.options.BasePath
	switch {
	case base == "":
		a.mux.ServeHTTP(w, r)
	case r.URL.Path == base:
		http.Redirect(w, r, base+"/", http.StatusPermanentRedirect)
	case strings.HasPrefix(r.URL.Path, base+"/"):
		http.StripPrefix(base, a.mux).ServeHTTP(w, r)
	default:
		newProblem(http.StatusNotFound, "not-found", "all paths of this server begin with %s/", base).write(w)
	}
}

// Close ends the streams. Each client gets a message and has Options.Grace to
// close its stream; then its lease is released. Waiting and new requests for a
// lease get status 503. Close returns when every request is answered, or when
// ctx ends. It does not close the Client.
func (a *API) Close(ctx context.Context) error {
	a.close()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for a.streams.Load() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("server: %d streams are still open: %w", a.streams.Load(), ctx.Err())
		}
	}
	return nil
}

// closed reports whether Close was called.
func (a *API) closed() bool {
	select {
	case <-a.life.Done():
		return true
	default:
		return false
	}
}
