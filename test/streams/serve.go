package main

import (
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/dashboard"
	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// serve is the HTTP server: it prints its URL, and what it uses for each line that it reads.
func serve(redisURL string, in io.Reader, out io.Writer) error {
	store, err := rueidisstore.Open(redisURL, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()
	api, err := server.Handler(client, &server.Options{MaxStreams: 1 << 16, Pages: dashboard.Handler(admin.Of(client), nil)})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := server.NewServer(api)
	defer web.Close()
	go func() { _ = web.Serve(l) }()
	if err := child.Say(out, "http://"+l.Addr().String()); err != nil {
		return err
	}
	for lines := child.NewLines(in); lines.Read(nil) == nil; {
		if err := child.Say(out, used()); err != nil {
			return err
		}
	}
	return nil
}

func used() usage {
	debug.FreeOSMemory() // after a collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{
		RSS: host.Resident(os.Getpid()), Live: float64(m.HeapAlloc + m.StackInuse),
		Goroutines: runtime.NumGoroutine(), CPU: host.UsedCPU(),
	}
}
