package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/server/internal/lease"
	"github.com/holdfast-go/holdfast/server/internal/limit"
	"github.com/holdfast-go/holdfast/server/internal/locks"
	"github.com/holdfast-go/holdfast/server/internal/outage"
	"github.com/holdfast-go/holdfast/server/internal/reply"
	"github.com/holdfast-go/holdfast/server/internal/stream"
)

// API is the http.Handler of the API. Make it with [Handler], and close it.
type API struct {
	router
	origins origins
	store   *outage.Watch
	streams *stream.Streams
	waiting *limit.Gate     // requests for a lease, which may wait; their own limit, so that they keep no renewal out
	life    context.Context // ends when streams are to end
	close   func()
}

// probeName is the name that is inspected to see whether the store answers.
const probeName = "holdfast-readyz"

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
	names := admin.Of(client)
	life, end := context.WithCancel(context.Background())
	store := outage.New(func(ctx context.Context) error {
		_, err := names.Inspect(ctx, probeName)
		if err != nil {
			return err
		}
		if fix := doctor.AtReplica(ctx, names.Store()); fix != "" {
			return errors.New("the server is a replica, which grants no locks; " + fix)
		}
		return nil
	}, life.Done())
	leases := &lease.Leases{Client: client, Store: store, Names: locks.New(client, store, v.Diagnose, v.Logger), Logger: v.Logger, Life: life}
	a := &API{
		router:  router{v, http.NewServeMux(), limit.NewGate(v.MaxRequests, "requests in progress"), limit.NewGate(v.MaxStreams, "open pages")},
		origins: origins{v.Tokens != nil, v.Hosts, true, http.NewCrossOriginProtection()}, store: store, life: life, close: end,
		streams: &stream.Streams{Leases: leases, Open: limit.NewGate(v.MaxStreams, "open streams"), Limits: lease.Limits{DefaultTTL: v.DefaultTTL, MaxTTL: v.MaxTTL, MaxWait: v.MaxStream}, Grace: v.Grace},
		waiting: limit.NewGate(v.MaxRequests, "waiting requests for a lease"),
	}
	routes(a, leases)
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	refused := a.origins.check(r)
	r, known := a.identify(r)
	leave, err := limit.Enter(r, known && refused == nil)
	if err != nil {
		reply.Error(w, err)
		return
	}
	defer leave()
	if refused == nil && (r.RequestURI == "*" || r.Method == http.MethodConnect) { // the mux would not answer with a problem
		refused = errNoPath
	}
	if refused != nil {
		reply.Error(w, refused)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Close ends the streams. Each client gets a message and has Options.Grace to
// close its stream; then its lease is released. Waiting and new requests for a
// lease get status 503. Close returns when every request is answered, or when
// ctx ends. It does not close the Client.
func (a *API) Close(ctx context.Context) error {
	a.close()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for a.streams.Count() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("server: %d streams are still open: %w", a.streams.Count(), ctx.Err())
		}
	}
	return nil
}
