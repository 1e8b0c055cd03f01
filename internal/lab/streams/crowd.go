package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is the client process: n streams.
type crowd struct {
	url    string
	n      int
	ttl    time.Duration
	http   *http.Client
	cancel context.CancelFunc
	all    sync.WaitGroup

	renewals []atomic.Int64 // of each
	lost     atomic.Int64
}

func newCrowd(url string, n int, ttl time.Duration) *crowd {
	return &crowd{
		url: url, n: n, ttl: ttl, renewals: make([]atomic.Int64, n),
		http: &http.Client{Transport: &http.Transport{ReadBufferSize: 512, WriteBufferSize: 512, DisableKeepAlives: true}},
	}
}

// open opens them, 64 at a time, and returns when each has its lease.
func (c *crowd) open(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	c.cancel = cancel
	granted, slots := make(chan error, c.n), make(chan struct{}, 64)
	for i := range c.n {
		slots <- struct{}{}
		c.all.Go(func() {
			done := sync.OnceFunc(func() { <-slots })
			defer done()
			err := c.stream(ctx, i, func() { done(); granted <- nil })
			if err != nil && ctx.Err() == nil {
				granted <- err
			}
		})
	}
	timeout := time.After(2 * time.Minute)
	for range c.n {
		select {
		case err := <-granted:
			if err != nil {
				return err
			}
		case <-timeout:
			return fmt.Errorf("not all streams had their leases within two minutes")
		}
	}
	return nil
}

func (c *crowd) stream(ctx context.Context, i int, granted func()) error {
	body := fmt.Sprintf(`{"name": "stream:%d", "ttl": %q}`, i, c.ttl)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/leases/stream", strings.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("stream %d: %s", i, r.Status)
	}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		switch lines.Text() {
		case "event: granted":
			granted()
		case "event: renewed":
			c.renewals[i].Add(1)
		case "event: lost", "event: revoke-requested":
			c.lost.Add(1)
		}
	}
	if ctx.Err() == nil {
		c.lost.Add(1)
	}
	return nil
}

// count says how many were lost, and how many never renewed.
func (c *crowd) count() (lost, silent int) {
	for i := range c.renewals {
		if c.renewals[i].Load() == 0 {
			silent++
		}
	}
	return int(c.lost.Load()), silent
}

func (c *crowd) close() {
	c.cancel()
	c.all.Wait()
}
