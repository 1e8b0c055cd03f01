package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/server"
)

// maxProfiles bounds the connections for profiles: any user of the machine can open them, and an address
// can have a quarter.
const maxProfiles = 64

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
	mux.HandleFunc("/debug/pprof/cmdline", programOnly)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	web := &http.Server{Handler: server.OnlyLocal(mux), ReadHeaderTimeout: 5 * time.Second}
	web.SetKeepAlivesEnabled(false)
	go func() { _ = web.Serve(server.LimitListener(l, maxProfiles)) }() // until it is closed
	a.Say("profiles at http://%s/debug/pprof/", l.Addr())
	return func() { _ = web.Close() }, nil
}

// programOnly replaces pprof.Cmdline. It leaves out the arguments, because they may contain passwords.
func programOnly(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, os.Args[0])
}
