package channels

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Link is a connection as its driver sees it. The driver calls Confirmed, Ended and
// Message from one goroutine, in the order of the stream.
type Link struct {
	pool     *Pool
	server   string
	conn     Conn
	began    time.Time
	channels map[string]*state
	users    int           // subscriptions, and callers on their way to one
	ready    chan struct{} // closed at the first answer, and at the end
	answered bool
	over     bool
	err      error // why it is over

	owed  int       // requests without an answer
	since time.Time // when it began to owe one, or last showed a sign of life
}

// state is what a connection knows of a channel. It is forgotten when nobody listens,
// nothing is unanswered and the server sends no more. Only then may the channel come
// back to this connection, so nothing that is read is meant for an earlier subscription.
type state struct {
	sub  *Subscription // nil when nobody listens any more
	open int           // requests without an answer
	on   bool          // confirmed: what is read now was published after it was asked for
}

// silent reports whether the server owes an answer for too long.
func (l *Link) silent(now time.Time) bool { return l.owed > 0 && now.Sub(l.since) > patience }

// tryAgain reports whether a caller that failed with err is to try another connection.
// The end of a connection that is older than the call says nothing about a new one.
func (l *Link) tryAgain(err error, called time.Time) bool {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return err == errTaken || err == errSilent || l.over && l.began.Before(called) //nolint:errorlint // made here, never wrapped
}

// subscribe is for a caller that choose has counted. first says that it connects.
func (l *Link) subscribe(ctx context.Context, first bool, channel string, message func(string)) (*Subscription, error) {
	if !first {
		if err := l.wait(ctx, l.ready); err != nil {
			l.pool.mu.Lock()
			defer l.pool.mu.Unlock()
			l.leave()
			return nil, err
		}
	}
	sub := &Subscription{link: l, channel: channel, message: message, done: make(chan struct{})}
	answered, err := sub.join()
	if err != nil {
		return nil, err
	}
	if err = l.wait(ctx, answered.done); err == nil {
		err = answered.err
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// wait waits for done, and at most until ctx ends or the connection is silent.
func (l *Link) wait(ctx context.Context, done <-chan struct{}) error {
	look := time.NewTicker(patience / 4)
	defer look.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case now := <-look.C:
			l.pool.mu.Lock()
			silent := l.silent(now)
			l.pool.mu.Unlock()
			if silent {
				return errSilent
			}
		}
	}
}

// answer is that of the server to one request.
type answer struct {
	done chan struct{}
	err  error // set before done is closed
}

// request sends one, with the pool's mutex held.
func (l *Link) request(channel string, s *state, end bool) *answer {
	if l.owed == 0 {
		l.since = time.Now()
	}
	l.owed++
	s.open++
	a := &answer{done: make(chan struct{})}
	l.conn.Request(channel, end, func(err error) {
		l.pool.mu.Lock()
		defer l.pool.mu.Unlock()
		l.owed--
		s.open--
		a.err = err
		if !l.over {
			l.signOfLife()
			if end && err != nil {
				l.kept(s, err)
			}
			l.tidy(channel, s)
		}
		if a.err == nil && (s.sub == nil || !s.on) {
			a.err = errEnded
		}
		close(a.done)
	})
	return a
}

// signOfLife notes that the server has sent something.
func (l *Link) signOfLife() {
	l.since = time.Now()
	if !l.answered {
		l.answered = true
		close(l.ready)
	}
}

// kept is called when the server refused to let a channel go. Where its slot has moved
// away, it is gone. Else it would count as listening, so the connection ends; and where
// the right is missing, from now on each channel has its own.
func (l *Link) kept(s *state, err error) {
	said := err.Error()
	if strings.HasPrefix(said, "MOVED ") {
		s.on = false
		return
	}
	if strings.HasPrefix(said, "NOPERM ") || strings.HasPrefix(said, "ERR ") {
		l.pool.unshared = true
	}
	l.end(err)
}

// tidy lets a channel go that nobody listens to, and forgets it when it is gone.
func (l *Link) tidy(channel string, s *state) {
	switch {
	case l.over || s.sub != nil || s.open > 0:
	case s.on:
		l.request(channel, s, true)
	default:
		delete(l.channels, channel)
	}
}

// leave counts a user less. A connection without one ends.
func (l *Link) leave() {
	if l.users--; l.users == 0 {
		l.end(errEnded)
	}
}

// end ends the connection and all subscriptions on it.
func (l *Link) end(err error) {
	if l.over {
		return
	}
	l.over, l.err = true, err
	if links := slices.DeleteFunc(l.pool.links[l.server], func(o *Link) bool { return o == l }); len(links) > 0 {
		l.pool.links[l.server] = links
	} else {
		delete(l.pool.links, l.server)
	}
	for _, s := range l.channels {
		if s.sub != nil {
			s.sub.finish()
			s.sub = nil
		}
	}
	if !l.answered {
		close(l.ready)
	}
	l.conn.Close()
}

// Confirmed says that the server confirmed a channel.
func (l *Link) Confirmed(channel string) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if s := l.channels[channel]; s != nil {
		s.on = true
	}
}

// Ended says that the server sends a channel no more, asked or unasked: its slot may
// have moved away.
func (l *Link) Ended(channel string) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	s := l.channels[channel]
	if s == nil || l.over {
		return
	}
	s.on = false
	if s.sub != nil {
		s.sub.finish()
		s.sub = nil
		l.leave()
	}
	l.tidy(channel, s)
}

// Message says what was published on a channel. Where others share the connection, it
// does not wait for the listener: thousands of listeners that get a message at once
// would queue for what they want.
func (l *Link) Message(channel, payload string) {
	if sub := l.listener(channel, payload); sub != nil {
		sub.message(payload)
	}
}

// listener returns the subscription that gets the message.
func (l *Link) listener(channel, payload string) *Subscription {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.since = time.Now()
	s := l.channels[channel]
	if s == nil || !s.on || s.sub == nil {
		return nil
	}
	if l.server == "" {
		return s.sub
	}
	s.sub.queue = append(s.sub.queue, payload)
	if !s.sub.busy {
		s.sub.busy = true
		go s.sub.deliver()
	}
	return nil
}

// Broken says that nothing more will be read.
func (l *Link) Broken(err error) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.end(err)
}
