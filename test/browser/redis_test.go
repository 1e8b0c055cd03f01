package browser_test

import (
	"net/http/httptest"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/server/dashboard"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// onRedis starts a Redis and a dashboard of it. client returns a Client on a connection of its
// own, such as another process has.
func onRedis(t *testing.T, options *holdfast.Options) (redis *redistest.Server, url string, client func(owner string) *holdfast.Client) {
	t.Helper()
	redis = redistest.Start(t, redistest.Options{})
	client = func(owner string) *holdfast.Client {
		store, err := rueidisstore.Open(redis.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		with := *options
		with.Owner = owner
		client := holdfast.New(store, &with)
		t.Cleanup(func() { client.Close() })
		return client
	}
	server := httptest.NewServer(dashboard.Handler(admin.Of(client("dashboard")), nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return redis, server.URL, client
}
