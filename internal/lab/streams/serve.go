package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/lab/child"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/dashboard"
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
		if err := child.Say(out, used("http://"+l.Addr().String())); err != nil {
			return err
		}
	}
	return nil
}

func used(url string) (u usage) {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Live, u.Goroutines = int64(m.HeapAlloc+m.StackInuse), runtime.NumGoroutine()
	u.RSS = resident()
	u.CPU = processor()
	answer, err := http.Get(url + "/readyz?verbose")
	if err != nil {
		return u
	}
	defer answer.Body.Close()
	_ = json.NewDecoder(answer.Body).Decode(&struct {
		Streams *int64 `json:"streams"`
	}{&u.Streams})
	return u
}

// resident is what of the process is in memory, in bytes; 0 where the system does not say it so.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
	}
	return pages * int64(os.Getpagesize())
}
