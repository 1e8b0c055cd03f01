package goredisstore

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/channels"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Subscribe subscribes to one channel. In a Cluster the channels of one node
// share a connection; elsewhere each has its own. See [driver.Store].
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	node, err := bounded(ctx, func() (redis.Options, error) { return s.home(ctx, channel) })
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
	return sub, nil
}

// listen makes one try.
func (s *Store) listen(ctx context.Context, node redis.Options, channel string, message func(string)) (*channels.Subscription, error) {
	server := ""
	if s.Sharded() {
		server = node.Addr
	}
	dial := func(link *channels.Link) channels.Conn { return newWire(node, s.Sharded(), link) }
	return s.pool.Subscribe(ctx, server, dial, channel, message)
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
	refused, _ := errors.AsType[driver.ServerError](err)
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
