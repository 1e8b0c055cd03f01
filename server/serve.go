package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/holdfast-go/holdfast/server/internal/limit"
)

// NewServer makes an http.Server with the limits of an open port. A client that
// sends or reads slowly does not keep a connection for ever. Streams have
// limits of their own.
func NewServer(a *API) *http.Server {
	web := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second, // for a body that no handler reads; a request that waits has read its body
		WriteTimeout:      a.options.MaxWait + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       limit.WithConn,
		ConnState:         limit.NoteState,
	}
	if c := a.options.Certificate; c != nil {
		web.TLSConfig = &tls.Config{GetCertificate: c.get}
	}
	return web
}

// LimitListener makes a listener for [NewServer], with at most n open
// connections. A further one closes the one that has been idle the longest.
// Connections that have sent no known token go first, those of the address that has
// the most of them before the rest. No connection is closed while a request with a
// known token is under way on it. If all have such requests, further connections
// wait.
//
// Without a known token a connection is closed after 10 s, and one address can have
// a quarter of n. In IPv6 the first 64 bits count as the address. If a connection is
// from one of the proxies, the address in X-Forwarded-For counts. Without
// Options.Tokens all requests count as known.
//
// On Linux a connection breaks if its client has acknowledged nothing for 20 s.
func LimitListener(l net.Listener, n int, proxies ...netip.Prefix) net.Listener {
	return limit.Listener(l, n, proxies)
}

// IsLoopback reports whether an address, host:port, can be reached only from this
// machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
