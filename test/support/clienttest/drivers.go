package clienttest

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/rueidis"
)

func init() { logging.Disable() } // go-redis logs each dial that fails

// Way is how a driver is opened by a test that cares.
type Way struct {
	RESP2   bool
	Patient bool   // timeouts of the client by which a call could end are far away
	Dials   func() // called before each dial
}

// Closer is what the stores of all drivers are.
type Closer interface {
	driver.Store
	Close() error
}

// Library is one of those that every test of drivers runs with.
type Library struct {
	Name  string
	Try   func(url string, w Way) (Closer, error)
	Adopt func(addr string) (store Closer, ping func(context.Context) error, end func())
	Pings bool // notices by itself that a server froze
}

// Drivers are both drivers.
var Drivers = []Library{
	{
		Name: "rueidis", Pings: true,
		Try: func(url string, w Way) (Closer, error) {
			return Opened(rueidisstore.Open(url, &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { adjustRueidis(o, w) }}))
		},
		Adopt: func(addr string) (Closer, func(context.Context) error, func()) {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
			if err != nil {
				panic(err)
			}
			ping := func(ctx context.Context) error { return client.Do(ctx, client.B().Ping().Build()).Error() }
			return rueidisstore.New(client), ping, client.Close
		},
	},
	{
		Name: "goredis",
		Try: func(url string, w Way) (Closer, error) {
			return Opened(goredisstore.Open(url, &goredisstore.Options{Adjust: func(o *redis.UniversalOptions) { adjustGoRedis(o, w) }}))
		},
		Adopt: func(addr string) (Closer, func(context.Context) error, func()) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			ping := func(ctx context.Context) error { return client.Ping(ctx).Err() }
			return goredisstore.New(client), ping, func() { _ = client.Close() }
		},
	},
}

// Opened keeps a nil store from hiding in an interface.
func Opened[S Closer](store S, err error) (Closer, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

func adjustRueidis(o *rueidis.ClientOption, w Way) {
	o.AlwaysRESP2 = w.RESP2
	if w.Dials != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			w.Dials()
			return dialer.DialContext(ctx, "tcp", addr)
		}
	}
}

func adjustGoRedis(o *redis.UniversalOptions, w Way) {
	if w.RESP2 {
		o.Protocol = 2
	}
	if w.Patient {
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout = 2*Patience, 2*Patience, 2*Patience
	}
	if dial := o.Dialer; w.Dials != nil {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			w.Dials()
			return dial(ctx, network, addr)
		}
	}
}

// EachDriver runs a test once with each driver.
func EachDriver(t *testing.T, test func(t *testing.T, d Library)) {
	for _, d := range Drivers {
		t.Run(d.Name, func(t *testing.T) { test(t, d) })
	}
}

// Open makes a store that ends with the test.
func (d Library) Open(t testing.TB, url string, w Way) Closer {
	t.Helper()
	store, err := d.Try(url, w)
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

// OpenStore opens a store of rueidis that ends with the test.
func OpenStore(t testing.TB, url string, adjust func(*rueidis.ClientOption)) *rueidisstore.Store {
	t.Helper()
	store, err := rueidisstore.Open(url, &rueidisstore.Options{Adjust: adjust})
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

// Lua is a script of a test.
func Lua(source string) *driver.Script { return driver.NewScript("test", source) }

// Subscribe subscribes until the test ends.
func Subscribe(t testing.TB, store driver.Store, channel string, message func(string)) driver.Subscription {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	sub, err := store.Subscribe(ctx, channel, message)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	return sub
}

// Eval runs a script and wants no error.
func Eval(t testing.TB, store driver.Store, source string, keys ...string) []string {
	t.Helper()
	reply, err := store.Eval(t.Context(), driver.Call{Script: Lua(source), Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// Protocols are the protocols that a driver may speak.
var Protocols = map[string]Way{"RESP3": {}, "RESP2": {RESP2: true}}
