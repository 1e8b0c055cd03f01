package rueidisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast"
	"github.com/redis/rueidis"
)

// Subscribe listens to one channel on a connection of its own. See
// holdfast.Store.
//
// It does not use rueidis' Receive, which subscribes again by itself when a
// connection breaks: messages in between would be lost without a word.
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (holdfast.Subscription, error) {
	node, addr := s.master()
	sub, err := s.subscribe(ctx, node, channel, message)
	if node := s.moved(err); node != nil { // the slot map is a little behind
		sub, err = s.subscribe(ctx, node, channel, message)
	}
	if err != nil {
		return nil, err
	}
	if !s.add(sub) { // closed meanwhile
		sub.Close()
		return nil, errors.New("rueidisstore: the store is closed")
	}
	if addr != "" {
		go s.follow(sub, addr)
	}
	return sub, nil
}

func (s *Store) add(sub *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs == nil {
		return false
	}
	select {
	case <-sub.done: // ended again already: nobody would take it out
	default:
		s.subs[sub] = struct{}{}
	}
	return true
}

func (s *Store) remove(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subs, sub)
}

// moved is the node that a redirection names, if it is one we know.
func (s *Store) moved(err error) rueidis.Client {
	redirected, ok := errors.AsType[*redirection](err)
	if !ok {
		return nil
	}
	return s.client.Nodes()[redirected.addr]
}

// redirection is a MOVED in answer to SSUBSCRIBE.
type redirection struct {
	holdfast.ServerError
	addr string
}

func (r *redirection) Unwrap() error { return r.ServerError }

// subscribe makes one try. rueidis dials without looking at ctx, so a goroutine
// does it, and tidies up if nobody waits any more.
func (s *Store) subscribe(ctx context.Context, node rueidis.Client, channel string, message func(string)) (*subscription, error) {
	type result struct {
		sub *subscription
		err error
	}
	made := make(chan result, 1)
	go func() {
		sub := s.listen(node, channel, message)
		err := sub.confirm(ctx)
		if err != nil {
			sub.Close()
		}
		made <- result{sub, err}
	}()
	select {
	case r := <-made:
		return r.sub, r.err
	case <-ctx.Done():
		go func() {
			if r := <-made; r.err == nil {
				r.sub.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// subscription is a connection in subscribed state.
type subscription struct {
	store   *Store
	conn    rueidis.DedicatedClient
	request rueidis.Completed // SUBSCRIBE or SSUBSCRIBE, to be sent again and again
	over    sync.Once
	done    chan struct{}
}

// listen takes a connection and hears what arrives on it. In a cluster the
// connection is made by the first command, since that names the slot.
func (s *Store) listen(node rueidis.Client, channel string, message func(string)) *subscription {
	conn, _ := node.Dedicate() // given back by Close
	sub := &subscription{store: s, conn: conn, done: make(chan struct{})}
	if s.Sharded() {
		sub.request = conn.B().Ssubscribe().Channel(channel).Build().Pin()
	} else {
		sub.request = conn.B().Subscribe().Channel(channel).Build().Pin()
	}
	broken := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { message(m.Message) },
		OnSubscription: func(event rueidis.PubSubSubscription) {
			switch event.Kind {
			case "unsubscribe", "sunsubscribe": // by the server: the slot has moved away
				go sub.Close() // not here: it waits for this goroutine
			}
		},
	})
	go func() {
		for range broken { // closed, after an error or none, when nothing will be heard any more
		}
		sub.Close()
	}()
	return sub
}

// confirm subscribes and waits for the server's answer. Sent again it changes
// nothing and is answered again, on this very connection, which PING is not when
// the server speaks RESP2: there rueidis keeps two.
func (sub *subscription) confirm(ctx context.Context) error {
	result := sub.conn.Do(ctx, sub.request)
	_, err := answer(result)
	refused, ok := errors.AsType[holdfast.ServerError](err)
	if !ok {
		return err
	}
	// MOVED slot host:port
	if words := strings.Fields(string(refused)); len(words) == 3 && words[0] == "MOVED" {
		return &redirection{refused, words[2]}
	}
	return refused
}

// Ping repeats the subscription and waits for the confirmation.
func (sub *subscription) Ping(ctx context.Context) error {
	select {
	case <-sub.done:
		return errors.New("rueidisstore: the subscription has ended")
	default:
	}
	if err := sub.confirm(ctx); err != nil {
		return fmt.Errorf("rueidisstore: ping: %w", err)
	}
	return nil
}

func (sub *subscription) Done() <-chan struct{} { return sub.done }

// Close does not wait for the connection's end, which takes rueidis up to a
// second when the server is silent.
func (sub *subscription) Close() {
	sub.over.Do(func() {
		close(sub.done)
		sub.store.remove(sub)
		go sub.conn.Close()
	})
}
