package serve

import (
	"context"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// serveAdmin serves profiles of this process at an address of its own; "" is nowhere.
func serveAdmin(ctx context.Context, a *cli.App, address string) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := listen(ctx, address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(l) }() // until it is closed
	a.Say("profiles at http://%s/debug/pprof/", l.Addr())
	return func() { _ = web.Close() }, nil
}
