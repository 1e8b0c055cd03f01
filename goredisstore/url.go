package goredisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisurl"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// What a client made from a URL is set to.
const (
	dialTimeout = 3 * time.Second
	silence     = 3 * time.Second // of a server that was asked
	keepAlive   = 2 * time.Second // of a connection that is idle, and between probes
	probes      = 2               // unanswered ones, until it is given up

	connections = 512             // at most, per server: one command each at a time
	idle        = 5 * time.Minute // then a connection is closed
	buffer      = 4 << 10         // per connection and direction; go-redis takes 32 KiB
	pipelines   = 4               // connections for them, before those of single commands are taken
	pipeBuffer  = 32 << 10
)

// ParseURL turns a URL into options for a go-redis client, with settings that
// suit a lock. It waits 3 s to connect and 3 s for an answer. It obeys the
// deadlines of contexts. It repeats no command, because holdfast does. It
// opens up to 512 connections per server, and 4 for pipelines. The forms are
//
//	redis://[user:password@]host[:port][/db]
//	valkey://[user:password@]host[:port][/db]
//	unix://[user:password@]/path/to/socket[?db=n]
//	sentinel://[user:password@]host[:port],host[:port]/master[/db][?sentinel_user=…&sentinel_password=…]
//	cluster://[user:password@]host[:port],host[:port]
//
// rediss, valkeys, sentinels and clusters mean TLS. They take the parameters
// ca, cert, key (files in PEM) and server_name. Percent-encode special
// characters, above all in a password. Errors contain no password, and no text
// that may be a password by mistake.
func ParseURL(text string) (*redis.UniversalOptions, error) {
	u, err := redisurl.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("goredisstore: url: %w", err)
	}
	option := defaults()
	option.Addrs = u.Addrs
	option.Username, option.Password = u.User, u.Password
	option.DB = u.DB
	option.TLSConfig = u.TLS
	option.MasterName = u.Master
	option.SentinelUsername, option.SentinelPassword = u.SentinelUser, u.SentinelPassword
	option.IsClusterMode = u.Kind == redisurl.Cluster
	return option, nil
}

func defaults() *redis.UniversalOptions {
	option := &redis.UniversalOptions{
		DisableIdentity:          true, // two commands per connection that say nothing of holdfast
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},

		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           dialTimeout,
		ReadTimeout:           silence,
		WriteTimeout:          silence,

		PoolSize:                connections,
		ConnMaxIdleTime:         idle,
		ReadBufferSize:          buffer,
		WriteBufferSize:         buffer,
		PipelinePoolSize:        pipelines,
		PipelineReadBufferSize:  pipeBuffer,
		PipelineWriteBufferSize: pipeBuffer,
	}
	option.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(ctx, network, addr, option)
	}
	option.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		if option.ClientName != "" {
			return nil
		}
		return introduce(ctx, conn)
	}
	return option
}

// dial obeys ctx with TLS, too; the dialer of go-redis does not.
func dial(ctx context.Context, network, addr string, option *redis.UniversalOptions) (net.Conn, error) {
	plain := &net.Dialer{
		Timeout:         option.DialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAlive, Count: probes},
	}
	if option.TLSConfig == nil {
		return plain.DialContext(ctx, network, addr)
	}
	secure := &tls.Dialer{NetDialer: plain, Config: option.TLSConfig}
	return secure.DialContext(ctx, network, addr)
}

// introduce names the connection for CLIENT LIST. Unlike with ClientName, a user without the
// right to do that can still lock.
func introduce(ctx context.Context, conn *redis.Conn) error {
	err := conn.ClientSetName(ctx, "holdfast").Err()
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil
	}
	return err
}
