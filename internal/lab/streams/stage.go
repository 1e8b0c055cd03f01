package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// stage is what all parts of a measurement work on.
type stage struct {
	out   io.Writer
	redis *redistest.Server
	s     *web
	n     int // streams with a lease
	hold  time.Duration
}

// pages prints what so many open dashboards cost beside the leases: first only told of
// newer pictures, then each fetching its page as well.
func (g *stage) pages(ctx context.Context, n int) error {
	before, err := g.s.memory()
	if err != nil {
		return err
	}
	a := newAudience(g.s.url, n)
	if err := a.open(ctx); err != nil {
		return err
	}
	defer a.close()
	opened, err := g.s.memory()
	if err != nil {
		return err
	}
	told := a.told.Load()
	scans, err := g.scans()
	if err != nil {
		return err
	}
	time.Sleep(g.hold)
	all, err := g.scans()
	if err != nil {
		return err
	}
	looks := float64(a.told.Load()-told) / float64(n)
	watched, err := g.s.memory()
	if err != nil {
		return err
	}
	a.fetch.Store(true)
	time.Sleep(g.hold)
	fetched := a.fetched.Load()
	after, err := g.s.memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(g.out, "\n%d dashboards beside them, for %v and again %v\n", n, g.hold, g.hold)
	fmt.Fprintf(g.out, "resident per dashboard   %.1f KiB told only, %.1f KiB with its page fetched each time\n",
		float64(watched.RSS-before.RSS)/float64(n)/1024, float64(after.RSS-before.RSS)/float64(n)/1024)
	fmt.Fprintf(g.out, "heap and stacks each     %.1f KiB, %.1f goroutines\n",
		float64(opened.Live-before.Live)/float64(n)/1024, float64(opened.Goroutines-before.Goroutines)/float64(n))
	fmt.Fprintf(g.out, "looks at Redis           %.1f for all, by %d SCAN\n", looks, all-scans)
	fmt.Fprintf(g.out, "processor of the server  %.1f %% of one told only, %.1f %% with %d pages fetched (%.2f ms each)\n",
		100*(watched.CPU-opened.CPU).Seconds()/g.hold.Seconds(), 100*(after.CPU-watched.CPU).Seconds()/g.hold.Seconds(),
		fetched, (after.CPU-watched.CPU).Seconds()*1000/float64(max(fetched, 1)))
	if failed := a.failed.Load(); failed > 0 {
		return fmt.Errorf("%d dashboards broke", failed)
	}
	// A SCAN asks for 512 of the keys, some of which are empty places.
	if most := (looks + 3) * (float64(10*g.n)/512 + 3); float64(all-scans) > most {
		return fmt.Errorf("%d SCAN for %.1f looks: not one look for all", all-scans, looks)
	}
	return nil
}

// scans is how often Redis was asked for keys.
func (g *stage) scans() (int64, error) {
	stats, err := g.redis.CommandStats()
	return stats["scan"], err
}

// outage prints how requests fare while Redis is frozen.
func (g *stage) outage(ctx context.Context) error {
	const n = 200
	before, err := g.s.memory()
	if err != nil {
		return err
	}
	if err := g.redis.Freeze(); err != nil {
		return err
	}
	defer func() { _ = g.redis.Thaw() }()
	first, err := g.refused(ctx, n)
	if err != nil {
		return err
	}
	known, err := g.s.memory()
	if err != nil {
		return err
	}
	second, err := g.refused(ctx, n)
	if err != nil {
		return err
	}
	during, err := g.s.memory()
	if err != nil {
		return err
	}
	if err := g.redis.Thaw(); err != nil {
		return err
	}
	fmt.Fprintf(g.out, "\n%d requests while Redis is frozen, and %d more\n", n, n)
	fmt.Fprintf(g.out, "all answered 503 within  %v, and %v\n", first.Round(time.Millisecond), second.Round(time.Millisecond))
	fmt.Fprintf(g.out, "goroutines               %d before, %d after the first, %d after the others\n", before.Goroutines, known.Goroutines, during.Goroutines)
	// What the first had begun is undone in the background, also after their answers, and
	// leases that are to be renewed wait for Redis, too.
	if during.Goroutines > known.Goroutines+n/4+g.n/4 {
		return fmt.Errorf("%d goroutines piled up", during.Goroutines-known.Goroutines)
	}
	return g.calm(ctx, before.Goroutines+n/4)
}

// calm waits until the server has no more goroutines than that.
func (g *stage) calm(ctx context.Context, most int) error {
	began := time.Now()
	for {
		now, err := g.s.memory()
		switch {
		case err != nil:
			return err
		case now.Goroutines <= most:
			fmt.Fprintf(g.out, "and %d                   %v after Redis was back\n", now.Goroutines, time.Since(began).Round(time.Millisecond))
			return nil
		case time.Since(began) > time.Minute:
			return fmt.Errorf("%d goroutines a minute after Redis was back, want at most %d", now.Goroutines, most)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refused sends requests side by side, and wants a 503 with the reason from each.
func (g *stage) refused(ctx context.Context, n int) (time.Duration, error) {
	var sending sync.WaitGroup
	answers := make(chan string, n)
	from := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	began := time.Now()
	for i := range n {
		sending.Go(func() {
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, g.s.url+"/v1/leases", strings.NewReader(fmt.Sprintf(`{"name": "frozen:%d"}`, i)))
			if err != nil {
				answers <- err.Error()
				return
			}
			q.Header.Set("Content-Type", "application/json")
			r, err := from.Do(q)
			if err != nil {
				answers <- err.Error()
				return
			}
			defer r.Body.Close()
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			answers <- r.Status + " " + body.String()
		})
	}
	sending.Wait()
	close(answers)
	for a := range answers {
		if !strings.HasPrefix(a, "503 ") || !strings.Contains(a, `"unavailable"`) {
			return 0, fmt.Errorf("while Redis is frozen a request was answered %s", a)
		}
	}
	return time.Since(began), nil
}
