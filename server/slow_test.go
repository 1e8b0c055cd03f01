package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A client that sends its head, or its body, drop by drop does not keep a connection.
func TestSlowClients(t *testing.T) {
	for what, text := range map[string]string{
		"a head that does not end": "GET /v1/locks HTTP/1.1\r\nHost: localhost\r\nX-",
		"a body that does not end": "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"a body that nobody reads": "GET /v1/locks/n HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, nil)
				c, err := w.http.Transport.(*http.Transport).DialContext(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
				_ = c.SetReadDeadline(time.Now().Add(2 * patience))
				if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
					t.Errorf("the connection is still open: %v", err)
				}
			})
		})
	}
}
