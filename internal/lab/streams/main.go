// Streams measures what leases bound to a stream cost the server that keeps them: so many
// connections of one client process, each with a name of its own, held and renewed for a
// while; then what open dashboards cost beside them, and how requests fare while Redis is
// frozen. It starts a redis-server and an HTTP server as processes of their own.
//
//	go run ./internal/lab/streams [-n 2000] [-pages 500] [-hold 20s] [-ttl 6s]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/child"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
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
	s, err := startServer(redis.URL())
	if err != nil {
		return err
	}
	defer s.End()
	before, err := s.memory()
	if err != nil {
		return err
	}
	c := newCrowd(s.url, n, ttl)
	began := time.Now()
	if err := c.open(ctx); err != nil {
		return err
	}
	opened := time.Since(began)
	during, err := s.memory()
	if err != nil {
		return err
	}
	time.Sleep(hold)
	lost, silent := c.count()
	after, err := s.memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d streams with a ttl of %v, held for %v\n", n, ttl, hold)
	fmt.Fprintf(out, "opened and granted in    %v\n", opened.Round(time.Millisecond))
	fmt.Fprintf(out, "resident per connection  %.1f KiB (of the server: %.1f MiB before, %.1f with all, %.1f at the end)\n",
		float64(after.RSS-before.RSS)/float64(n)/1024, mib(before.RSS), mib(during.RSS), mib(after.RSS))
	fmt.Fprintf(out, "heap and stacks each     %.1f KiB, %.1f goroutines\n",
		float64(after.Live-before.Live)/float64(n)/1024, float64(after.Goroutines-before.Goroutines)/float64(n))
	fmt.Fprintf(out, "processor of the server  %.1f %% of one, while they were held\n", 100*(after.CPU-during.CPU).Seconds()/hold.Seconds())
	fmt.Fprintf(out, "lost %d, without a renewal %d\n", lost, silent)
	if lost > 0 || silent > 0 && hold > ttl {
		return fmt.Errorf("%d leases were lost, %d never renewed", lost, silent)
	}
	g := &stage{out, redis, s, n, hold}
	if err := g.pages(ctx, pages); err != nil {
		return err
	}
	if err := g.outage(ctx); err != nil {
		return err
	}
	began = time.Now()
	c.close()
	if err := s.free(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "streams released         within %v of closing them, with Redis back\n", time.Since(began).Round(time.Millisecond))
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// usage is what the server uses.
type usage struct {
	RSS, Live  int64 // bytes: resident; heap and stacks after a collection
	Goroutines int
	CPU        time.Duration
	Streams    int64
}

// web is the HTTP server as a process.
type web struct {
	*child.Child
	url string
}

func startServer(redisURL string) (*web, error) {
	c, err := child.Start(childVariable, redisURL, time.Hour)
	if err != nil {
		return nil, err
	}
	s := &web{Child: c}
	return s, c.Hear(&s.url)
}

func (s *web) memory() (u usage, err error) {
	err = s.Ask("usage", &u)
	return u, err
}

// free waits until no stream is open there.
func (s *web) free(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		u, err := s.memory()
		if err != nil || u.Streams == 0 {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d streams are still open: %w", u.Streams, ctx.Err())
		}
	}
}
