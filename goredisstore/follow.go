package goredisstore

import (
	"context"
	"net"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
)

// follower is a hook that sees to which server a client connects. Behind
// Sentinel that is the master; when it is another than before, subscriptions to
// the old one end: the connection to a server that froze does not end by itself,
// and nobody publishes there any more.
type follower struct {
	store *Store

	mu     sync.Mutex // protects master
	master string
}

// behindSentinel reports whether a client asks Sentinel where its master is.
func behindSentinel(client single) bool {
	return client != nil && client.Options().Addr == "FailoverClient"
}

func (f *follower) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			f.follow(conn.RemoteAddr().String())
		}
		return conn, err
	}
}

func (f *follower) follow(master string) {
	f.mu.Lock()
	same := f.master == master
	f.master = master
	f.mu.Unlock()
	if same {
		return
	}
	f.store.channels.End(func(conn driver.ChannelConn) bool {
		peer := conn.(*wire).socket.peer()
		return peer != "" && peer != master
	})
}

func (f *follower) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (f *follower) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
