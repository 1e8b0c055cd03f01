//go:build linux

package client

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type rueidislockPeer struct {
	*process
	locker rueidislock.Locker
}

func newRueidislock(p *process) (peer, error) {
	u, err := url.Parse(p.URLs[0])
	if err != nil {
		return nil, err
	}
	o := rueidis.ClientOption{InitAddress: strings.Split(u.Host, ",")}
	if u.Scheme == "sentinel" {
		o.Sentinel.MasterSet = strings.Trim(u.Path, "/")
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyMajority: 1, NoLoopTracking: true, KeyPrefix: p.Prefix, KeyValidity: p.TTL,
	})
	if err != nil {
		return nil, err
	}
	return &rueidislockPeer{p, locker}, nil
}

func (p *rueidislockPeer) close() {
	done := make(chan struct{})
	go func() { p.locker.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(peerWait):
	}
}

// lock lets ctx bound the wait alone: that of WithContext bounds the hold, too.
func (p *rueidislockPeer) lock(ctx context.Context, w *wish, try bool) (lease, error) {
	hold, drop := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, drop)
	lock := p.locker.WithContext
	if try {
		lock = p.locker.TryWithContext
	}
	held, cancel, err := lock(hold, w.target.Names[0])
	switch {
	case err == nil && !stop(): // ctx came first
		go cancel()
		return nil, ctx.Err()
	case err == nil:
		return &watchedLease{&caller{process: p.process}, w, held, func() { cancel(); drop() }}, nil
	}
	drop()
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil, errNotGranted
	}
	return nil, err
}
