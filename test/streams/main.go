// Streams measures what leases bound to a stream cost the server that keeps them: so many
// connections of one client process, each with a name of its own, held and renewed for a
// while; then what open dashboards cost beside them. It starts a redis-server and an HTTP
// server as processes of their own.
//
//	go run ./test/streams [-n 2000] [-pages 500] [-hold 20s] [-ttl 6s]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// childVariable has the URL of Redis where this process is to be the HTTP server.
const childVariable = "HOLDFAST_STREAMS_CHILD"

func main() {
	n := flag.Int("n", 2000, "how many streams")
	pages := flag.Int("pages", 500, "how many dashboards are open beside them")
	hold := flag.Duration("hold", 20*time.Second, "how long they are held")
	ttl := flag.Duration("ttl", 6*time.Second, "their ttl")
	flag.Parse()
	err := error(nil)
	if url := os.Getenv(childVariable); url != "" {
		err = serve(url, os.Stdin, os.Stdout)
	} else {
		err = measure(context.Background(), os.Stdout, *n, *pages, *hold, *ttl)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

// measure prints what n streams cost, and so many dashboards.
func measure(ctx context.Context, out io.Writer, n, pages int, hold, ttl time.Duration) error {
	dir, err := os.MkdirTemp("", "streams")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	redis, err := redistest.Run(dir, redistest.Options{})
	if err != nil {
		return err
	}
	defer redis.Close()
	server, err := child.Start(childVariable, redis.URL(), time.Hour)
	if err != nil {
		return err
	}
	defer server.End()
	m := &measurement{out: out, redis: redis, server: server, hold: hold}
	if err := server.Hear(&m.url); err != nil {
		return err
	}
	end, err := m.leases(ctx, n, ttl)
	defer end()
	if err != nil {
		return err
	}
	return m.dashboards(ctx, pages, n)
}

// measurement is what both parts work on.
type measurement struct {
	out    io.Writer
	redis  *redistest.Server
	server *child.Child
	url    string
	hold   time.Duration
}

// leases prints what n streams cost that hold a lease each. They stay open until
// end is called.
func (m *measurement) leases(ctx context.Context, n int, ttl time.Duration) (end func(), err error) {
	l := newLeases(m.url, n, ttl)
	var before, during, after usage
	if err := m.server.Ask("usage", &before); err != nil {
		return l.close, err
	}
	began := time.Now()
	if err := l.open(ctx, n, l.follow); err != nil {
		return l.close, err
	}
	opened := time.Since(began)
	if err := m.server.Ask("usage", &during); err != nil {
		return l.close, err
	}
	time.Sleep(m.hold)
	lost, silent := l.count()
	if err := m.server.Ask("usage", &after); err != nil {
		return l.close, err
	}
	fmt.Fprintf(m.out, "%d streams with a ttl of %v, held for %v\n", n, ttl, m.hold)
	fmt.Fprintf(m.out, "opened and granted in    %v\n", opened.Round(time.Millisecond))
	fmt.Fprintf(m.out, "resident per connection  %s (of the server: %.1f MiB before, %.1f with all, %.1f at the end)\n",
		kib(after.RSS-before.RSS, n), before.RSS/(1<<20), during.RSS/(1<<20), after.RSS/(1<<20))
	after.each(m.out, before, n)
	fmt.Fprintf(m.out, "processor of the server  %.1f %% of one, while they were held\n", after.percent(during, m.hold))
	fmt.Fprintf(m.out, "lost %d, without a renewal %d\n", lost, silent)
	if lost > 0 || silent > 0 && m.hold > ttl {
		return l.close, fmt.Errorf("%d leases were lost, %d never renewed", lost, silent)
	}
	return l.close, nil
}

// dashboards prints the cost of n open dashboards beside the leases: first while they only
// hear of newer pictures, then while each also fetches its page.
func (m *measurement) dashboards(ctx context.Context, n, leases int) error {
	d := newDashboards(m.url, n)
	defer d.close()
	var before, opened, watched, after usage
	if err := m.server.Ask("usage", &before); err != nil {
		return err
	}
	if err := d.open(ctx, n, d.follow); err != nil {
		return err
	}
	if err := m.server.Ask("usage", &opened); err != nil {
		return err
	}
	told := d.told.Load()
	from, err := m.redis.CommandStats()
	if err != nil {
		return err
	}
	time.Sleep(m.hold)
	to, err := m.redis.CommandStats()
	if err != nil {
		return err
	}
	surveys, scans := float64(d.told.Load()-told)/float64(n), to["scan"]-from["scan"]
	if err := m.server.Ask("usage", &watched); err != nil {
		return err
	}
	d.fetch.Store(true)
	time.Sleep(m.hold)
	fetched := d.fetched.Load()
	if err := m.server.Ask("usage", &after); err != nil {
		return err
	}
	fmt.Fprintf(m.out, "\n%d dashboards beside them, for %v and again %v\n", n, m.hold, m.hold)
	fmt.Fprintf(m.out, "resident per dashboard   %s told only, %s with its page fetched each time\n",
		kib(watched.RSS-before.RSS, n), kib(after.RSS-before.RSS, n))
	opened.each(m.out, before, n)
	fmt.Fprintf(m.out, "looks at Redis           %.1f for all, by %d SCAN\n", surveys, scans)
	fmt.Fprintf(m.out, "processor of the server  %.1f %% of one told only, %.1f %% with %d pages fetched (%.2f ms each)\n",
		watched.percent(opened, m.hold), after.percent(watched, m.hold),
		fetched, (after.CPU-watched.CPU).Seconds()*1000/float64(max(fetched, 1)))
	if failed := d.failed.Load(); failed > 0 {
		return fmt.Errorf("%d dashboards broke", failed)
	}
	// A SCAN asks for 512 places of the key table. Some of them are empty.
	if most := (surveys + 3) * (float64(10*leases)/512 + 3); float64(scans) > most {
		return fmt.Errorf("%d SCAN for %.1f looks: not one look for all", scans, surveys)
	}
	return nil
}

// usage is what the server uses.
type usage struct {
	RSS, Live  float64 // bytes: resident; heap and stacks after a collection
	Goroutines int
	CPU        time.Duration
}

func kib(bytes float64, n int) string { return fmt.Sprintf("%.1f KiB", bytes/float64(n)/1024) }

// percent is the part of a processor that it used since.
func (u usage) percent(since usage, in time.Duration) float64 {
	return 100 * (u.CPU - since.CPU).Seconds() / in.Seconds()
}

// each prints what each of n costs in memory.
func (u usage) each(out io.Writer, before usage, n int) {
	fmt.Fprintf(out, "heap and stacks each     %s, %.1f goroutines\n", kib(u.Live-before.Live, n), float64(u.Goroutines-before.Goroutines)/float64(n))
}
