package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// streams are open requests of this process, each followed by a goroutine.
type streams struct {
	url    string
	http   *http.Client
	cancel context.CancelFunc
	all    sync.WaitGroup
	failed atomic.Int64 // ended by themselves
}

func newStreams(url string) streams {
	transport := &http.Transport{ReadBufferSize: 512, WriteBufferSize: 512, DisableKeepAlives: true}
	return streams{url: url, http: &http.Client{Transport: transport}, cancel: func() {}}
}

// open opens n streams, 64 at a time, and returns when each has had its first event.
func (s *streams) open(parent context.Context, n int, follow func(ctx context.Context, i int, first func()) error) error {
	ctx, cancel := context.WithCancel(parent)
	s.cancel = cancel
	came, slots := make(chan error, 2*n), make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		s.all.Go(func() {
			first := sync.OnceFunc(func() { <-slots; came <- nil })
			defer first()
			if err := follow(ctx, i, first); ctx.Err() == nil {
				s.failed.Add(1)
				came <- fmt.Errorf("stream %d: %w", i, err)
			}
		})
	}
	timeout := time.After(2 * time.Minute)
	for range n {
		select {
		case err := <-came:
			if err != nil {
				return err
			}
		case <-timeout:
			return errors.New("not all streams had an event within two minutes")
		}
	}
	return nil
}

// do sends a request, whose answer must be 200.
func (s *streams) do(ctx context.Context, client *http.Client, method, path, body string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		r.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, r.Status)
	}
	return r.Body, nil
}

func (s *streams) close() {
	s.cancel()
	s.all.Wait()
}

// leases are streams with a lease each.
type leases struct {
	streams
	ttl      time.Duration
	renewals []atomic.Int64 // of each
	lost     atomic.Int64
}

func newLeases(url string, n int, ttl time.Duration) *leases {
	return &leases{streams: newStreams(url), ttl: ttl, renewals: make([]atomic.Int64, n)}
}

func (l *leases) follow(ctx context.Context, i int, granted func()) error {
	body, err := l.do(ctx, l.http, http.MethodPost, "/v1/leases/stream", fmt.Sprintf(`{"name": "stream:%d", "ttl": %q}`, i, l.ttl))
	if err != nil {
		return err
	}
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		switch lines.Text() {
		case "event: granted":
			granted()
		case "event: renewed":
			l.renewals[i].Add(1)
		case "event: lost", "event: revoke-requested":
			l.lost.Add(1)
		}
	}
	return io.ErrUnexpectedEOF
}

// count says how many were lost, and how many never renewed.
func (l *leases) count() (lost, silent int) {
	for i := range l.renewals {
		if l.renewals[i].Load() == 0 {
			silent++
		}
	}
	return int(l.lost.Load() + l.failed.Load()), silent
}

// dashboards are browsers: each has its stream open, and fetches a page whenever that
// tells of a newer picture.
type dashboards struct {
	streams
	page    *http.Client
	fetch   atomic.Bool // whether they fetch
	told    atomic.Int64
	fetched atomic.Int64
}

func newDashboards(url string, n int) *dashboards {
	transport := &http.Transport{MaxIdleConnsPerHost: n, ReadBufferSize: 4096, WriteBufferSize: 512}
	return &dashboards{streams: newStreams(url), page: &http.Client{Timeout: time.Minute, Transport: transport}}
}

func (d *dashboards) follow(ctx context.Context, _ int, first func()) error {
	body, err := d.do(ctx, d.http, http.MethodGet, "/stream", "")
	if err != nil {
		return err
	}
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		d.told.Add(1)
		first()
		if !d.fetch.Load() {
			continue
		}
		page, err := d.do(ctx, d.page, http.MethodGet, "/locks", "")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, page)
		if err = errors.Join(err, page.Close()); err != nil {
			return err
		}
		d.fetched.Add(1)
	}
	return io.ErrUnexpectedEOF
}
