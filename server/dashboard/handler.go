package dashboard

import (
	"cmp"
	"context"
	"net/http"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/pages"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// Handler serves the pages of names: of one master, from admin.New, or of a quorum, from
// admin.NewQuorum. It begins to poll when a page is opened, and stops 1 min after the
// last page was closed. There is nothing to close. It panics if BasePath is malformed.
func Handler(names admin.Reader, options *Options) http.Handler {
	if names == nil {
		panic("holdfast/dashboard: Handler needs the names of admin.New or admin.NewQuorum")
	}
	o := options.withDefaults()
	config := pages.Config{
		Base: o.BasePath, ReadOnly: o.ReadOnly, MayAct: o.Authorize != nil, Journal: o.Journal,
		Sampler: seen.NewSampler(names, o.Prefix, o.Journal, o.Diagnose), Check: noCheck,
	}
	master, _ := names.(*admin.Admin)
	switch names := names.(type) {
	case *admin.Quorum:
		config.Quorum = names.ID()
	case *admin.Admin:
		config.Check = func(ctx context.Context) []doctor.Result {
			return doctor.Check(ctx, names.Store(), &doctor.Options{Prefix: cmp.Or(names.Prefix(), holdfast.NoPrefix), TTL: o.TTL})
		}
	default:
		panic("holdfast/dashboard: Handler needs an *admin.Admin or *admin.Quorum")
	}
	return newHandler(master, config, o)
}

// noCheck stands for a check of a quorum.
func noCheck(context.Context) []doctor.Result {
	return []doctor.Result{{
		Name: "server", State: doctor.Unknown, Finding: "these are the names of a quorum: a check does not cover its nodes",
		Fix: "check each node by itself; 'holdfast quorum status' shows which nodes vote",
	}}
}

func newHandler(orders *admin.Admin, config pages.Config, o Options) http.Handler {
	assets := newAssets()
	config.Assets = o.BasePath + "/assets/" + assets.version
	board := pages.New(config, pages.Pages)
	mux := http.NewServeMux()
	base := o.BasePath
	for _, page := range pages.Pages {
		mux.HandleFunc("GET "+base+page.Path, func(w http.ResponseWriter, r *http.Request) { board.Serve(w, r, page) })
	}
	mux.HandleFunc("GET "+base+"/stream", func(w http.ResponseWriter, r *http.Request) { stream(w, r, config.Sampler) })
	mux.Handle("POST "+base+"/lock/{verb}", &acts{orders, o, board})
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
