package driver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Receiver takes what a driver reads from a [ChannelConn]. [Channels] makes one for each
// connection. The driver calls Confirmed, Ended and Message from one goroutine, in the order in
// which it reads. Calls about a channel without a subscription do no harm, nor do calls after
// Broken.
type Receiver struct {
	channels *Channels
	server   string
	conn     ChannelConn
	began    time.Time
	states   map[string]*channelState // by channel
	users    int                      // subscriptions, and callers on their way to one
	ready    chan struct{}            // closed at the first answer, and at the end
	answered bool
	over     bool
	err      error // why it is over

	owed  int       // requests without an answer
	since time.Time // when it began to owe one, or last showed a sign of life
}

// channelState is what a connection knows of a channel. It is forgotten when nobody listens,
// nothing is unanswered and the server sends no more. Only then may the channel come
// back to this connection, so nothing that is read is meant for an earlier subscription.
type channelState struct {
	sub  *subscription // nil when nobody listens any more
	open int           // requests without an answer
	on   bool          // confirmed: what is read now was published after it was asked for
}

// silent reports whether the server owes an answer for too long.
func (r *Receiver) silent(now time.Time) bool { return r.owed > 0 && now.Sub(r.since) > patience }

// tryAgain reports whether a caller that failed with err is to try another connection.
// The end of a connection that is older than the call says nothing about a new one.
func (r *Receiver) tryAgain(err error, called time.Time) bool {
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	return err == errTaken || err == errSilent || r.over && r.began.Before(called) //nolint:errorlint // made here, never wrapped
}

// subscribe is for a caller that choose has counted. first says that it connects.
func (r *Receiver) subscribe(ctx context.Context, first bool, channel string, message func(string)) (*subscription, error) {
	if !first {
		if err := r.wait(ctx, r.ready); err != nil {
			r.channels.mu.Lock()
			defer r.channels.mu.Unlock()
			r.leave()
			return nil, err
		}
	}
	sub := &subscription{receiver: r, channel: channel, message: message, done: make(chan struct{})}
	answered, err := sub.join()
	if err != nil {
		return nil, err
	}
	if err = r.wait(ctx, answered.done); err == nil {
		err = answered.err
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// wait waits for done, and at most until ctx ends or the connection is silent.
func (r *Receiver) wait(ctx context.Context, done <-chan struct{}) error {
	look := time.NewTicker(patience / 4)
	defer look.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case now := <-look.C:
			r.channels.mu.Lock()
			silent := r.silent(now)
			r.channels.mu.Unlock()
			if silent {
				return errSilent
			}
		}
	}
}

// channelAnswer is the server's answer to one request.
type channelAnswer struct {
	done chan struct{}
	err  error // set before done is closed
}

// request sends a request. The caller holds the mutex of the Channels.
func (r *Receiver) request(channel string, s *channelState, end bool) *channelAnswer {
	if r.owed == 0 {
		r.since = time.Now()
	}
	r.owed++
	s.open++
	a := &channelAnswer{done: make(chan struct{})}
	r.conn.Request(channel, end, func(err error) {
		r.channels.mu.Lock()
		defer r.channels.mu.Unlock()
		r.owed--
		s.open--
		a.err = err
		if !r.over {
			r.signOfLife()
			if end && err != nil {
				r.kept(s, err)
			}
			r.tidy(channel, s)
		}
		if a.err == nil && (s.sub == nil || !s.on) {
			a.err = errEnded
		}
		close(a.done)
	})
	return a
}

// signOfLife notes that the server has sent something.
func (r *Receiver) signOfLife() {
	r.since = time.Now()
	if !r.answered {
		r.answered = true
		close(r.ready)
	}
}

// kept is called when the server refused to end a subscription. If the slot has moved away, the
// subscription is gone. Otherwise the server would go on sending, so the connection ends. If the
// client has no right to unsubscribe, each channel has its own connection from now on.
func (r *Receiver) kept(s *channelState, err error) {
	said, _ := errors.AsType[ServerError](err)
	if strings.HasPrefix(string(said), "MOVED ") {
		s.on = false
		return
	}
	if strings.HasPrefix(string(said), "NOPERM ") || strings.HasPrefix(string(said), "ERR ") {
		r.channels.unshared = true
	}
	r.end(err)
}

// tidy unsubscribes from a channel that nobody listens to, and forgets it when it is gone.
func (r *Receiver) tidy(channel string, s *channelState) {
	switch {
	case r.over || s.sub != nil || s.open > 0:
	case s.on:
		r.request(channel, s, true)
	default:
		delete(r.states, channel)
	}
}

// leave removes one user. A connection without users ends.
func (r *Receiver) leave() {
	if r.users--; r.users == 0 {
		r.end(errEnded)
	}
}

// end ends the connection and all subscriptions on it.
func (r *Receiver) end(err error) {
	if r.over {
		return
	}
	r.over, r.err = true, err
	if left := slices.DeleteFunc(r.channels.open[r.server], func(o *Receiver) bool { return o == r }); len(left) > 0 {
		r.channels.open[r.server] = left
	} else {
		delete(r.channels.open, r.server)
	}
	for _, s := range r.states {
		if s.sub != nil {
			s.sub.finish()
			s.sub = nil
		}
	}
	if !r.answered {
		close(r.ready)
	}
	r.conn.Close()
}

// Confirmed reports that the server has confirmed the subscription to a channel.
func (r *Receiver) Confirmed(channel string) {
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	if s := r.states[channel]; s != nil {
		s.on = true
	}
}

// Ended reports that the server has ended the subscription to a channel, as requested or by
// itself: a Cluster sends sunsubscribe when the slot moves.
func (r *Receiver) Ended(channel string) {
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	s := r.states[channel]
	if s == nil || r.over {
		return
	}
	s.on = false
	if s.sub != nil {
		s.sub.finish()
		s.sub = nil
		r.leave()
	}
	r.tidy(channel, s)
}

// Message passes on a message. If the subscription has a connection of its own, Message calls its
// message function; otherwise another goroutine does.
func (r *Receiver) Message(channel, payload string) {
	if sub := r.listener(channel, payload); sub != nil {
		sub.message(payload)
	}
}

// listener returns the subscription that gets the message.
func (r *Receiver) listener(channel, payload string) *subscription {
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	r.since = time.Now()
	s := r.states[channel]
	if s == nil || !s.on || s.sub == nil {
		return nil
	}
	if r.server == "" {
		return s.sub
	}
	// Thousands of listeners that get a message at once would queue for what they want.
	s.sub.queue = append(s.sub.queue, payload)
	if !s.sub.busy {
		s.sub.busy = true
		go s.sub.deliver()
	}
	return nil
}

// Broken reports that the connection has broken: nothing more will be read. It closes the
// connection and ends its subscriptions. err says why; nil stands for an end without an error. Call
// Broken before the answered functions of the requests that got no answer.
func (r *Receiver) Broken(err error) {
	if err == nil {
		err = errEnded
	}
	r.channels.mu.Lock()
	defer r.channels.mu.Unlock()
	r.end(err)
}
