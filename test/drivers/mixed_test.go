package drivers_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Processes with different drivers are in one line for one lock: never two hold
// it, tokens rise from one to the other, and all get their turn.
func TestDriversTogether(t *testing.T) {
	const (
		rounds  = 40
		callers = 2
	)
	server := redistest.Start(t, redistest.Options{})
	var inside, last atomic.Int64
	var wg sync.WaitGroup
	for _, d := range clienttest.Drivers {
		for i := range 2 {
			client := holdfast.New(d.Open(t, server.URL(), clienttest.Way{}), &holdfast.Options{Owner: fmt.Sprint(d.Name, i)})
			t.Cleanup(func() { _ = client.Close() })
			for range callers {
				wg.Go(func() {
					for range rounds {
						lease, err := client.Mutex("shared").Lock(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						if inside.Add(1) != 1 || last.Swap(lease.Token()) >= lease.Token() {
							t.Error("two inside, or a token that did not rise")
						}
						inside.Add(-1)
						if err := lease.Release(); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	}
	wg.Wait()
}

// A lease through each driver outlives a restart of its server that keeps the
// data, and a waiter gets the name afterwards.
func TestDriversOutliveARestart(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{AOF: true, Config: []string{"appendfsync always"}})
		client := func(owner string) *holdfast.Client {
			c := holdfast.New(d.Open(t, server.URL(), clienttest.Way{}), &holdfast.Options{Owner: owner})
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		a, b := client("A"), client("B")
		lease, err := a.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := make(chan *holdfast.Lease, 1)
		go func() {
			lease, err := b.Mutex("n").Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			next <- lease
		}()
		clienttest.Eventually(t, "the waiter is in line", func() bool {
			state, err := admin.Of(a).Inspect(t.Context(), "n")
			return err == nil && state.Waiting == 1
		})
		server.Kill()
		if err := server.Restart(false); err != nil {
			t.Fatal(err)
		}
		if err := lease.Err(); err != nil {
			t.Errorf("after the restart: got %v, want the lease", err)
		}
		if err := lease.Release(); err != nil {
			t.Errorf("release: %v", err)
		}
		if second := <-next; second != nil {
			if second.Token() <= lease.Token() {
				t.Errorf("token %d after %d", second.Token(), lease.Token())
			}
			if err := second.Release(); err != nil {
				t.Error(err)
			}
		}
	})
}
