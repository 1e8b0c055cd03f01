package driver

import (
	"context"
	"fmt"
)

// subscription is a channel that somebody listens to.
type subscription struct {
	receiver *Receiver
	channel  string
	message  func(payload string)
	done     chan struct{}
	over     bool
	queue    []string // not delivered yet
	busy     bool     // a goroutine delivers
}

// join sends the first request.
func (sub *subscription) join() (*channelAnswer, error) {
	r := sub.receiver
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	switch {
	case r.over:
		sub.finish()
		return nil, r.err
	case r.states[sub.channel] != nil: // somebody was faster
		sub.finish()
		r.leave()
		return nil, errTaken
	}
	s := &channelState{sub: sub}
	r.states[sub.channel] = s
	return r.request(sub.channel, s, false), nil
}

// deliver passes on what is queued, in its order.
func (sub *subscription) deliver() {
	for payloads := sub.take(); len(payloads) > 0; payloads = sub.take() {
		for _, payload := range payloads {
			sub.message(payload)
		}
	}
}

func (sub *subscription) take() (payloads []string) {
	sub.receiver.channels.mu.Lock()
	defer sub.receiver.channels.mu.Unlock()
	if !sub.over {
		payloads = sub.queue
	}
	sub.queue, sub.busy = nil, len(payloads) > 0
	return payloads
}

// Ping repeats the request, which changes nothing and is answered again.
func (sub *subscription) Ping(ctx context.Context) error {
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

func (sub *subscription) ping() (*channelAnswer, error) {
	r := sub.receiver
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	if sub.over {
		return nil, errEnded
	}
	return r.request(sub.channel, r.states[sub.channel], false), nil
}

// Done is closed when the subscription has ended.
func (sub *subscription) Done() <-chan struct{} { return sub.done }

// Close ends the subscription. It does not wait for the server.
func (sub *subscription) Close() {
	r := sub.receiver
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	if sub.over {
		return
	}
	sub.finish()
	s := r.states[sub.channel]
	s.sub = nil
	r.leave()
	r.tidy(sub.channel, s)
}

func (sub *subscription) finish() {
	if !sub.over {
		sub.over = true
		close(sub.done)
	}
}
