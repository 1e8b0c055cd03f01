package goredisstore

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Subscribe listens to one channel on a connection of its own. See
// holdfast.Store.
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (holdfast.Subscription, error) {
	type result struct {
		sub *subscription
		err error
	}
	made := make(chan result, 1)
	go func() { // a dialer may not look at ctx
		sub, err := s.subscribe(ctx, channel, message)
		made <- result{sub, err}
	}()
	select {
	case r := <-made:
		if r.err != nil {
			return nil, r.err
		}
		return r.sub, nil
	case <-ctx.Done():
		go func() {
			if r := <-made; r.err == nil {
				r.sub.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (s *Store) subscribe(ctx context.Context, channel string, message func(string)) (*subscription, error) {
	node, err := s.home(ctx, channel)
	if err != nil {
		return nil, refusal(err)
	}
	sub, err := s.listen(ctx, node, channel, message)
	if addr := moved(err, node.Addr); addr != "" { // the slot map is a little behind
		node.Addr = addr
		sub, err = s.listen(ctx, node, channel, message)
	}
	if err != nil {
		if s.Sharded() {
			s.cluster.ReloadState(ctx) // in the background: the master may be another now
		}
		return nil, err
	}
	if !s.add(sub) { // closed meanwhile
		sub.Close()
		return nil, errors.New("goredisstore: the store is closed")
	}
	return sub, nil
}

// home gives the options of the client for the server where a channel lives,
// without what a subscription has no use for.
func (s *Store) home(ctx context.Context, channel string) (redis.Options, error) {
	var options redis.Options
	if s.Sharded() {
		node, err := s.cluster.MasterForKey(ctx, channel)
		if err != nil {
			return options, err
		}
		options = *node.Options()
	} else {
		options = *s.single.Options()
	}
	options.PoolSize, options.PipelinePoolSize, options.MinIdleConns = 1, -1, 0
	options.Limiter, options.ClientSideCache, options.ClientSideCacheConfig = nil, nil, nil
	options.PushNotificationProcessor = nil
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return options, nil
}

// moved is the address that a MOVED names, if err is one. Without a host it is
// that of who said so.
func moved(err error, from string) string {
	refused, _ := errors.AsType[holdfast.ServerError](err)
	words := strings.Fields(string(refused)) // MOVED slot host:port
	if len(words) != 3 || words[0] != "MOVED" {
		return ""
	}
	if port, ok := strings.CutPrefix(words[2], ":"); ok {
		host, _, _ := net.SplitHostPort(from)
		return net.JoinHostPort(host, port)
	}
	return words[2]
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
