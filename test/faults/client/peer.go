//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Peer is another lock in the place of holdfast. It has no tokens: 0 stands for
// one, so the resource refuses nobody.
type Peer string

// The peers, by the settings that their documentation names.
const (
	Redsync     Peer = "redsync"     // own view: until Mutex.Until
	Redislock   Peer = "redislock"   // own view: what Lock.TTL said at the grant, from the moment before it was asked
	Rueidislock Peer = "rueidislock" // own view: the context of WithContext has not ended, whenever that was looked at
	Holdfast    Peer = "holdfast"    // itself, among peers
	RecipeLate  Peer = "recipe-late" // a wrong one: own view from the moment at which the answer came
	Recipe      Peer = "recipe"      // SET NX PX and compare-and-delete; own view: a ttl from the moment before SET was sent
)

// Peers are all that are right, holdfast first.
var Peers = []Peer{Holdfast, Redsync, Redislock, Rueidislock, Recipe}

// Key is where a peer keeps a name.
func (p Peer) Key(prefix, name string) string {
	if p == Rueidislock {
		return prefix + ":0:" + name
	}
	return prefix + name
}

// peer is one of them in a process. lock waits until ctx ends, or not at all.
type peer interface {
	lock(ctx context.Context, w *wish, try bool) (lease, error)
	close()
}

// peerWait bounds calls that have no other bound.
const peerWait = 2 * time.Second

// errNotGranted is what every peer says in words of its own.
var errNotGranted = errors.New("not granted")

// close closes the Client, or the peer.
func (p *process) close() error {
	if p.peer != nil {
		p.peer.close()
		return nil
	}
	errs := make([]error, len(p.clients))
	var closing sync.WaitGroup
	for i, client := range p.clients {
		closing.Go(func() { errs[i] = client.Close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// connectPeer makes the peer.
func (p *process) connectPeer() (err error) {
	switch p.Peer {
	case Redsync, Redislock, Recipe, RecipeLate:
		p.peer, err = onGoRedis(p)
	case Rueidislock:
		p.peer, err = newRueidislock(p)
	default:
		err = fmt.Errorf("no peer %q", p.Peer)
	}
	return err
}

// timed is a lease that its holder believes in until a moment. Nothing tells it
// before.
type timed struct {
	until   time.Time
	release func(context.Context) error
}

func (l *timed) Remaining() time.Duration { return time.Until(l.until) }

// Done never comes: none of these peers has such a thing.
func (l *timed) Done() <-chan struct{} { return nil }

func (l *timed) Err() error {
	if l.Remaining() > 0 {
		return nil
	}
	return &holdfast.LostError{Cause: holdfast.Expired}
}

func (l *timed) Release() error {
	ctx, cancel := context.WithTimeout(context.Background(), peerWait)
	defer cancel()
	if err := l.release(ctx); err != nil {
		return errors.Join(holdfast.ErrUnknown, err)
	}
	return nil
}

// watchedLease is one whose holder believes in it as long as a context has not
// ended. That it was looked at is noted, for there is no deadline.
type watchedLease struct {
	*caller
	wish   *wish
	ctx    context.Context
	cancel func()
}

func (l *watchedLease) Remaining() time.Duration { return 0 }
func (l *watchedLease) Done() <-chan struct{}    { return l.ctx.Done() }

func (l *watchedLease) Err() error {
	if l.ctx.Err() != nil {
		return &holdfast.LostError{Cause: holdfast.Gone}
	}
	now := history.Now()
	l.note(l.wish, history.Event{T: now, What: history.Renewed, Deadline: now})
	return nil
}

func (l *watchedLease) Release() error {
	done := make(chan struct{})
	go func() { l.cancel(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(peerWait):
		return holdfast.ErrUnknown
	}
}
