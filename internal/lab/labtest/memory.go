package labtest

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// FullServer is a server whose memory will be full, and a client maker.
func FullServer(t *testing.T) (server *redistest.Server, client func(holdfast.Options) *holdfast.Client) {
	t.Helper()
	server = redistest.Start(t, redistest.Options{})
	return server, func(options holdfast.Options) *holdfast.Client {
		store, err := rueidisstore.Open(server.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		c := holdfast.New(store, &options)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// QueueLength waits until n processes stand in line.
func QueueLength(t *testing.T, server *redistest.Server, name, n string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if server.MustDo(t, "ZCARD", "holdfast/queue:{holdfast:"+name+"}") == n {
			return
		}
	}
	t.Fatalf("%s processes do not wait for %s after 20 s", n, name)
}
