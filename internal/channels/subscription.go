package channels

import (
	"context"
	"fmt"
)

// Subscription is a channel that somebody listens to. See driver.Subscription.
type Subscription struct {
	link    *Link
	channel string
	message func(payload string)
	done    chan struct{}
	over    bool
	queue   []string // not delivered yet
	busy    bool     // a goroutine delivers
}

// join sends the first request.
func (sub *Subscription) join() (*answer, error) {
	l := sub.link
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	switch {
	case l.over:
		sub.finish()
		return nil, l.err
	case l.channels[sub.channel] != nil: // somebody was faster
		sub.finish()
		l.leave()
		return nil, errTaken
	}
	s := &state{sub: sub}
	l.channels[sub.channel] = s
	return l.request(sub.channel, s, false), nil
}

// deliver passes on what is queued, in its order.
func (sub *Subscription) deliver() {
	for payloads := sub.take(); len(payloads) > 0; payloads = sub.take() {
		for _, payload := range payloads {
			sub.message(payload)
		}
	}
}

func (sub *Subscription) take() (payloads []string) {
	sub.link.pool.mu.Lock()
	defer sub.link.pool.mu.Unlock()
	if !sub.over {
		payloads = sub.queue
	}
	sub.queue, sub.busy = nil, len(payloads) > 0
	return payloads
}

// Ping repeats the request, which changes nothing and is answered again.
func (sub *Subscription) Ping(ctx context.Context) error {
	a, err := sub.ping()
	if err != nil {
		return err
	}
	select {
	case <-a.done:
		err = a.err
	case <-sub.done:
		err = errEnded
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

func (sub *Subscription) ping() (*answer, error) {
	l := sub.link
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if sub.over {
		return nil, errEnded
	}
	return l.request(sub.channel, l.channels[sub.channel], false), nil
}

// Done is closed when the subscription has ended.
func (sub *Subscription) Done() <-chan struct{} { return sub.done }

// Close ends the subscription. It does not wait for the server.
func (sub *Subscription) Close() {
	l := sub.link
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if sub.over {
		return
	}
	sub.finish()
	s := l.channels[sub.channel]
	s.sub = nil
	l.leave()
	l.tidy(sub.channel, s)
}

func (sub *Subscription) finish() {
	if !sub.over {
		sub.over = true
		close(sub.done)
	}
}
