// Package server shows and gives locks over HTTP, with JSON, to whoever has no
// library of holdfast. Handler makes an API that can be mounted in any server; the
// command holdfast serve runs it by itself.
//
// A lease over HTTP is of one of two kinds. By request: the answer holds a text, the
// lease, by which it is renewed and released in further requests; when nobody
// renews it, it ends by its ttl. Bound to a stream: this server renews it for
// as long as the connection is open, and releases it when that closes; so a client
// that dies is noticed at once. Either way the limits of the package holdfast hold:
// a paused client can act after its lease has ended, and what makes that harmless is
// the token, which the resource checks.
//
// The server keeps nothing that matters. Leases by request live in Redis alone:
// any server of the same Redis renews them, also after a restart. Those bound to a
// stream end with it, or, when the server is killed, by their ttl.
package server
