package rueidisstore

import (
	"fmt"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisurl"
	"github.com/redis/rueidis"
)

// What a client made from a URL is set to. rueidis sends PING after one or two
// keepAlive without an answer, and gives the connection up silence later.
const (
	dialTimeout = 3 * time.Second
	keepAlive   = 2 * time.Second
	silence     = 3 * time.Second

	buffer        = 32 << 10 // per connection and direction; rueidis takes 512 KiB
	subscriptions = 1 << 16  // at a time, per node
	masterRefresh = 5 * time.Second
)

// ParseURL turns a URL into options for a rueidis client, with the times that
// suit a lock. It takes 3 s to connect and 5 to 7 s to give up a frozen server.
// The client has no client-side cache. The forms are
//
//	redis://[user:password@]host[:port][/db]
//	valkey://[user:password@]host[:port][/db]
//	unix://[user:password@]/path/to/socket[?db=n]
//	sentinel://[user:password@]host[:port],host[:port]/master[/db][?sentinel_user=…&sentinel_password=…]
//	cluster://[user:password@]host[:port],host[:port]
//
// rediss, valkeys, sentinels and clusters mean TLS. They take the parameters
// ca, cert, key (files in PEM) and server_name. A redis:// address that is part
// of a Cluster is used as a Cluster. Percent-encode special characters, above
// all in a password. Errors contain no password, and nothing that may be one by
// mistake.
func ParseURL(text string) (rueidis.ClientOption, error) {
	u, err := redisurl.Parse(text)
	if err != nil {
		return rueidis.ClientOption{}, fmt.Errorf("rueidisstore: url: %w", err)
	}
	option := defaults()
	option.InitAddress = u.Addrs
	option.Username, option.Password = u.User, u.Password
	option.SelectDB = u.DB
	option.TLSConfig, option.Sentinel.TLSConfig = u.TLS, u.TLS
	switch u.Kind {
	case redisurl.Server:
		option.ForceSingleClient = u.DB != 0 // a cluster has only database 0
	case redisurl.Socket:
		option.ForceSingleClient = true
		option.DialCtxFn = over("unix")
	case redisurl.Sentinel:
		option.Sentinel.MasterSet = u.Master
		option.Sentinel.Username, option.Sentinel.Password = u.SentinelUser, u.SentinelPassword
	case redisurl.Cluster: // NewClient finds out
	}
	return option, nil
}

func defaults() rueidis.ClientOption {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return rueidis.ClientOption{
		ClientName:          "holdfast",
		Dialer:              dialer,
		DialCtxFn:           over("tcp"),
		ConnWriteTimeout:    silence,
		ReadBufferEachConn:  buffer,
		WriteBufferEachConn: buffer,
		BlockingPoolSize:    subscriptions,
		PipelineMultiplex:   -1, // one connection: of several it opens each when chance falls on it, and a full server lets none in
		DisableCache:        true,
		Sentinel: rueidis.SentinelOption{
			Dialer:                  dialer,
			ClientName:              "holdfast",
			TopologyRefreshInterval: masterRefresh, // a missed event would bind us to the old master
		},
	}
}
