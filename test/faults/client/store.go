//go:build linux

package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// closer is a Store that was opened.
type closer interface {
	driver.Store
	Close() error
}

// open opens a driver with the trap in its way.
func open(library, url string, single bool, t *trap) (closer, error) {
	store, err := opened(library, url, single, t)
	if err != nil {
		return nil, err
	}
	return &watched{store, t}, nil
}

func opened(library, url string, single bool, t *trap) (closer, error) {
	behind := func(conn net.Conn, err error) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		return &trapped{conn, t}, nil
	}
	switch library {
	case "rueidis":
		store, err := rueidisstore.Open(url, &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) {
			o.ForceSingleClient = single
			dial := o.DialCtxFn
			o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
				return behind(dial(ctx, addr, dialer, config))
			}
		}})
		if err != nil {
			return nil, err // not a nil store in an interface
		}
		return store, nil
	case "goredis":
		store, err := goredisstore.Open(url, &goredisstore.Options{Adjust: func(o *redis.UniversalOptions) {
			dial := o.Dialer
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return behind(dial(ctx, network, addr))
			}
		}})
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	return nil, fmt.Errorf("no library %q", library)
}

// watched is a Store at which a trap can be set.
type watched struct {
	closer
	trap *trap
}

func (s *watched) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if asks(call.Script.SHA) {
		s.trap.at(BeforeSend)
	}
	return s.closer.Eval(ctx, call)
}
