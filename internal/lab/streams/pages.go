package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// audience are browsers that watch the dashboard: each has its stream open, and fetches a
// page whenever that tells of a newer picture.
type audience struct {
	url    string
	n      int
	stream *http.Client
	page   *http.Client
	cancel context.CancelFunc
	all    sync.WaitGroup

	fetch   atomic.Bool // whether they fetch
	told    atomic.Int64
	fetched atomic.Int64
	failed  atomic.Int64
}

func newAudience(url string, n int) *audience {
	return &audience{
		url: url, n: n,
		stream: &http.Client{Transport: &http.Transport{ReadBufferSize: 512, WriteBufferSize: 512, DisableKeepAlives: true}},
		page:   &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: n, ReadBufferSize: 4096, WriteBufferSize: 512}},
	}
}

// open opens the streams, 64 at a time, and returns when each has been told something.
func (a *audience) open(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	a.cancel = cancel
	came, slots := make(chan struct{}, a.n), make(chan struct{}, 64)
	for range a.n {
		slots <- struct{}{}
		a.all.Go(func() {
			first := sync.OnceFunc(func() { <-slots; came <- struct{}{} })
			defer first()
			if err := a.watch(ctx, first); err != nil && ctx.Err() == nil {
				a.failed.Add(1)
			}
		})
	}
	timeout := time.After(2 * time.Minute)
	for range a.n {
		select {
		case <-came:
		case <-timeout:
			return fmt.Errorf("not all pages were told something within two minutes")
		}
	}
	if failed := a.failed.Load(); failed > 0 {
		return fmt.Errorf("%d pages have no stream", failed)
	}
	return nil
}

func (a *audience) watch(ctx context.Context, first func()) error {
	r, err := a.get(ctx, a.stream, "/stream")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		a.told.Add(1)
		first()
		if !a.fetch.Load() {
			continue
		}
		if err := a.look(ctx); err != nil {
			return err
		}
		a.fetched.Add(1)
	}
	return io.ErrUnexpectedEOF
}

func (a *audience) look(ctx context.Context) error {
	r, err := a.get(ctx, a.page, "/locks")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

func (a *audience) get(ctx context.Context, from *http.Client, path string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return nil, err
	}
	r, err := from.Do(q)
	if err == nil && r.StatusCode != http.StatusOK {
		r.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, r.Status)
	}
	return r, err
}

func (a *audience) close() {
	a.cancel()
	a.all.Wait()
	a.page.CloseIdleConnections()
}
