package limit_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/holdfast-go/holdfast/server/internal/limit"
)

// A request that comes by a connection which was closed for another is not served: its answer would
// be lost.
func TestEnterAfterTheClose(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit.Listener(inner, 1, nil)
	defer l.Close()
	requests := make([]*http.Request, 2)
	for i := range requests {
		near, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		requests[i] = (&http.Request{}).WithContext(limit.WithConn(context.Background(), c))
	}
	if _, err := limit.Enter(requests[0], true); err == nil {
		t.Error("a request by a closed connection is served")
	}
	leave, err := limit.Enter(requests[1], true)
	if err != nil {
		t.Fatal(err)
	}
	leave()
}
