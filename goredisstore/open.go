package goredisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Options are the settings of [Open]. The zero value works.
type Options struct {
	// Adjust changes the client options that Open took from the URL. Use it for
	// credentials that rotate, another dialer, or another name than "holdfast"
	// in CLIENT LIST.
	Adjust func(*redis.UniversalOptions)
}

// Open makes a client from a URL, connects it, and returns a Store that owns
// it. See [ParseURL] for the forms of a URL. A redis:// address that is part of
// a Cluster is used as a Cluster. Nil options mean the defaults. Close the
// Store.
func Open(url string, options *Options) (*Store, error) {
	option, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if options != nil && options.Adjust != nil {
		options.Adjust(option)
	}
	client, err := connect(option)
	if errors.Is(err, errNoCluster) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("goredisstore: cannot connect to %s: %w", strings.Join(option.Addrs, ", "), said(err))
	}
	s := New(client)
	s.end = client.Close
	s.once = s.single != nil && s.single.Options().MaxRetries <= 0
	if behindSentinel(s.single) {
		client.AddHook(&follower{store: s})
	}
	return s, nil
}

var errNoCluster = errors.New("goredisstore: the server is not part of a cluster: use redis:// for a single server")

func connect(option *redis.UniversalOptions) (redis.UniversalClient, error) {
	client := redis.NewUniversalClient(option)
	inCluster, err := hello(client)
	if inCluster && maybeCluster(option) {
		_ = client.Close()
		option.IsClusterMode = true
		client = redis.NewUniversalClient(option)
		inCluster, err = hello(client)
	}
	if isCluster(option) && (err == nil && !inCluster || err != nil && strings.Contains(err.Error(), "cluster support disabled")) {
		err = errNoCluster
	}
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

func isCluster(option *redis.UniversalOptions) bool {
	return option.MasterName == "" && (option.IsClusterMode || len(option.Addrs) > 1)
}

// maybeCluster reports whether one server was named, by what may be its address
// in a cluster. A cluster has only database 0.
func maybeCluster(option *redis.UniversalOptions) bool {
	return !isCluster(option) && option.MasterName == "" && option.DB == 0 && !strings.HasPrefix(option.Addrs[0], "/")
}

// hello asks a server whether it is part of a cluster. HELLO needs no right;
// what does not know it, or not like this, is no cluster that would do.
func hello(client redis.UniversalClient) (inCluster bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*dialTimeout)
	defer cancel()
	cmd := redis.NewCmd(ctx, "hello")
	cmd.SetStepCount(1) // see command
	reply, err := bounded(ctx, func() (any, error) {
		_ = client.Process(ctx, cmd)
		return cmd.Result()
	})
	if said, refused := errors.AsType[redis.Error](err); refused && strings.HasPrefix(said.Error(), "ERR ") {
		return false, nil
	}
	switch reply := reply.(type) {
	case map[any]any:
		return reply["mode"] == "cluster", err
	case []any: // RESP2
		for i := 0; i+1 < len(reply); i += 2 {
			if reply[i] == "mode" {
				return reply[i+1] == "cluster", err
			}
		}
	}
	return false, err
}
