package drivers_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// Open of one server promises that each call runs at most once; a client whose settings may
// repeat calls, or that is not known, does not.
func TestDriverPromisesOneRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	cluster := "cluster://" + redistest.Cluster(t, 3, 0)[0].Addr()
	open := func(store clienttest.Closer, err error) driver.SendsOnce {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store.(driver.SendsOnce)
	}
	for _, d := range clienttest.Drivers {
		adopted, _, end := d.Adopt(server.Addr())
		t.Cleanup(end)
		for what, got := range map[string]struct{ got, want bool }{
			"one server": {open(d.Try(server.URL(), clienttest.Way{})).SendsOnce(), true},
			"a cluster":  {open(d.Try(cluster, clienttest.Way{})).SendsOnce(), false},
			"New":        {open(adopted, nil).SendsOnce(), false},
		} {
			if got.got != got.want {
				t.Errorf("%s, %s: got %v, want %v", d.Name, what, got.got, got.want)
			}
		}
	}
	if open(clienttest.Opened(goredisstore.Open(server.URL(), &goredisstore.Options{Adjust: func(o *redis.UniversalOptions) { o.MaxRetries = 1 }}))).SendsOnce() {
		t.Error("goredis with MaxRetries: got true, want false")
	}
	if open(clienttest.Opened(rueidisstore.Open(server.URL(), &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { o.ConnLifetime = time.Hour }}))).SendsOnce() {
		t.Error("rueidis with ConnLifetime: got true, want false")
	}
}

// A call whose answer is lost with its connection runs once where the driver promises it.
func TestDriverRunsACallOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		for protocol, w := range clienttest.Protocols {
			t.Run(protocol, func(t *testing.T) {
				proxy := redistest.StartProxy(t, server.Addr())
				store := d.Open(t, "redis://"+proxy.Addr(), w)
				if u, ok := store.(driver.SendsOnce); !ok || !u.SendsOnce() {
					t.Fatal("the store does not promise to run a call once")
				}
				key := "runs:" + d.Name + protocol
				call := driver.Call{Script: clienttest.Lua("return redis.call('INCR', KEYS[1])"), Keys: []string{key}}
				for what, run := range map[string]func() error{
					"Eval":    func() error { _, err := store.Eval(t.Context(), call); return err },
					"EvalAll": func() error { return store.EvalAll(t.Context(), []driver.Call{call})[0].Err },
				} {
					clienttest.Eventually(t, "it is connected, and the script known", func() bool { return run() == nil })
					server.MustDo(t, "SET", key, "0")
					proxy.HoldReplies()
					done := make(chan error, 1)
					go func() { done <- run() }()
					clienttest.Eventually(t, what+" runs", func() bool { return server.MustDo(t, "GET", key) == "1" })
					proxy.Cut()
					proxy.Pass()
					if err := <-done; err == nil {
						t.Errorf("%s: got nil, want that the connection broke", what)
					}
					if got := server.MustDo(t, "GET", key); got != "1" {
						t.Errorf("%s ran %s times, want once", what, got)
					}
				}
			})
		}
	})
}
