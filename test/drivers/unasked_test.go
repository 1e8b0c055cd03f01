package drivers_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/redis/rueidis"
)

// A server that has too many clients says so before it is asked. A connection that
// took as long as there was time is not asked anything any more, and what it hears
// must not end the process.
func TestDriverHearsUnasked(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	var slow atomic.Bool
	store, err := rueidisstore.Open(server.URL(), &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) {
		dial := o.DialCtxFn
		o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
			conn, err := dial(context.WithoutCancel(ctx), addr, dialer, config)
			if err == nil && slow.Load() {
				<-ctx.Done()
			}
			return conn, err
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	eval := func(ctx context.Context) error {
		_, err := store.Eval(ctx, driver.Call{Script: driver.NewScript("set", "return redis.call('SET', KEYS[1], 'x')"), Keys: []string{"k"}})
		return err
	}
	if err := eval(t.Context()); err != nil {
		t.Fatal(err)
	}
	only, err := net.Dial("tcp", server.Addr()) //nolint:noctx // it stays
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	slow.Store(true)
	say(t, only, "CONFIG SET maxclients 1\r\nCLIENT KILL TYPE normal\r\n")
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := eval(ctx); err == nil {
			t.Error("a script ran although no connection was to be had")
		}
		cancel()
	}
	slow.Store(false)
	say(t, only, "CONFIG SET maxclients 10000\r\n")
	for end := time.Now().Add(20 * time.Second); ; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := eval(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("Eval = %v; want it to work again", err)
		}
	}
}

// say writes commands, and reads as much of the answers as comes at once.
func say(t *testing.T, conn net.Conn, commands string) {
	t.Helper()
	if _, err := conn.Write([]byte(commands)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 512)
	if n, err := conn.Read(answer); err != nil {
		t.Fatalf("%q: %q, %v", commands, answer[:n], err)
	}
}
