package dashboard

import (
	"context"
	"net/http"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/pages"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// admin is what the dashboard asks and orders of names.
type admin interface {
	seen.Surveyor
	Check(ctx context.Context) []holdfast.Check
	Revoke(ctx context.Context, name, hash, reason string) (notified int, err error)
	Steal(ctx context.Context, name, hash, reason string) error
	Quorum() string
}

// Handler serves the pages of the names that client sees. It begins to poll
// when a page is opened, and stops 1 min after the last page was closed. There
// is nothing to close. It panics if BasePath is malformed. Close the client
// after the server.
func Handler(client *holdfast.Client, options *Options) http.Handler {
	if client == nil {
		panic("holdfast/dashboard: Handler needs a client")
	}
	return newHandler(client, options.withDefaults())
}

func newHandler(admin admin, o Options) http.Handler {
	assets := newAssets()
	sampler := seen.NewSampler(admin, o.Prefix, o.Journal)
	board := pages.New(pages.Config{
		Base: o.BasePath, Assets: o.BasePath + "/assets/" + assets.version, ReadOnly: o.ReadOnly, MayAct: o.Authorize != nil,
		Quorum: admin.Quorum(), Journal: o.Journal, Check: admin.Check, Sampler: sampler,
	})
	mux := http.NewServeMux()
	base := o.BasePath
	for path, page := range map[string]pages.Page{
		"/{$}":       pages.Overview,
		"/locks":     pages.Locks,
		"/lock":      pages.Lock,
		"/processes": pages.Processes,
		"/problems":  pages.Problems,
		"/events":    pages.Events,
		"/elections": pages.Elections,
		"/jobs":      pages.Jobs,
		"/redis":     pages.Redis,
		"/":          pages.Nowhere,
	} {
		mux.HandleFunc("GET "+base+path, func(w http.ResponseWriter, r *http.Request) { board.Serve(w, r, page) })
	}
	mux.HandleFunc("GET "+base+"/stream", func(w http.ResponseWriter, r *http.Request) { stream(w, r, sampler) })
	mux.Handle("POST "+base+"/lock/{verb}", &acts{admin, o, board})
	mux.HandleFunc("POST "+base+"/redis", func(w http.ResponseWriter, r *http.Request) {
		if sameOrigin(r) {
			pages.CheckAgain(board)
		}
		http.Redirect(w, r, base+"/redis", http.StatusSeeOther)
	})
	mux.Handle("GET "+base+"/assets/{version}/{file...}", assets)
	if base != "" {
		mux.Handle("GET "+base, http.RedirectHandler(base+"/", http.StatusSeeOther))
	}
	return secure(mux)
}
