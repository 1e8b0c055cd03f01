package lab_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/rueidis"
)

func init() { logging.Disable() } // go-redis logs each dial that fails

// way is how a driver is opened by a test that cares.
type way struct {
	resp2   bool
	patient bool   // time-outs of the client by which a call could end are far away
	dials   func() // called before each dial
}

// closer is what the stores of all drivers are.
type closer interface {
	driver.Store
	Close() error
}

// library is one of those that every test of drivers runs with.
type library struct {
	name  string
	try   func(url string, w way) (closer, error)
	adopt func(addr string) (store closer, ping func(context.Context) error, end func())
	pings bool // notices by itself that a server froze
}

var drivers = []library{
	{
		name: "rueidis", pings: true,
		try: func(url string, w way) (closer, error) {
			return opened(rueidisstore.Open(url, &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { adjustRueidis(o, w) }}))
		},
		adopt: func(addr string) (closer, func(context.Context) error, func()) {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
			if err != nil {
				panic(err)
			}
			ping := func(ctx context.Context) error { return client.Do(ctx, client.B().Ping().Build()).Error() }
			return rueidisstore.New(client), ping, client.Close
		},
	},
	{
		name: "goredis",
		try: func(url string, w way) (closer, error) {
			return opened(goredisstore.Open(url, &goredisstore.Options{Adjust: func(o *redis.UniversalOptions) { adjustGoRedis(o, w) }}))
		},
		adopt: func(addr string) (closer, func(context.Context) error, func()) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			ping := func(ctx context.Context) error { return client.Ping(ctx).Err() }
			return goredisstore.New(client), ping, func() { _ = client.Close() }
		},
	},
}

// opened keeps a nil store from hiding in an interface.
func opened[S closer](store S, err error) (closer, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

func adjustRueidis(o *rueidis.ClientOption, w way) {
	o.AlwaysRESP2 = w.resp2
	if w.dials != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			w.dials()
			return dialer.DialContext(ctx, "tcp", addr)
		}
	}
}

func adjustGoRedis(o *redis.UniversalOptions, w way) {
	if w.resp2 {
		o.Protocol = 2
	}
	if w.patient {
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout = 2*patience, 2*patience, 2*patience
	}
	if dial := o.Dialer; w.dials != nil {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			w.dials()
			return dial(ctx, network, addr)
		}
	}
}

func eachDriver(t *testing.T, test func(t *testing.T, d library)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// open makes a store that ends with the test.
func (d library) open(t testing.TB, url string, w way) closer {
	t.Helper()
	store, err := d.try(url, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// briefly is a context that is over before anything else is.
func briefly(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
