//go:build unix

package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A frozen server does not keep a list of names for ever, though its caller set
// no deadline.
func TestClientNamesOfAFrozenServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: time.Second})
	clienttest.GiveBack(t, clienttest.Take(t, client, "n"))
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range admin.Of(client).Names(context.Background(), "") {
			last = err
		}
		ended <- last
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("got no error, want one")
		}
	case <-time.After(40 * time.Second):
		t.Error("it still waits after 40 s")
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
}
