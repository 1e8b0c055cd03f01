package drivers_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// All that a store of rueidis sends travels by one connection, however much there is:
// with several a holder would need another one in the middle of a tenure, when chance
// falls on it, and a full server lets none in.
func TestRueidisSendsByOneConnection(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := holdfast.New(clienttest.Drivers[0].Open(t, server.URL(), clienttest.Way{}), nil)
	t.Cleanup(func() { _ = client.Close() })
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			for range 8 {
				lease, err := client.Mutex(fmt.Sprint("n", i)).Lock(t.Context())
				if err == nil {
					err = lease.Release()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	list := server.MustDo(t, "CLIENT", "LIST", "TYPE", "normal")
	if got := strings.Count(list, "name=holdfast "); got != 1 {
		t.Errorf("got %d connections of the store, want 1:\n%s", got, list)
	}
}
