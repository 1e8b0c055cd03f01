// Package server offers locks over HTTP and JSON, for programs in any language.
// [Handler] makes an API that you can mount in your own server. The command
// "holdfast serve" runs it alone.
//
// A lease over HTTP is of one of two kinds:
//
//   - By request: the answer has a text, the lease. Further requests renew and
//     release it by that text. If no request renews it, it ends when its TTL
//     has passed.
//   - Bound to a stream: the server renews the lease while the connection is
//     open, and releases it when the connection closes. So the death of a
//     client is noticed at once.
//
// The limits of package holdfast hold for both. A paused client can act after
// its lease has ended. The fencing token, checked by the resource, makes that
// harmless.
//
// The server keeps no state that matters. Leases by request live in Redis
// alone: any server of the same Redis renews them, also after a restart. A
// lease bound to a stream ends with the stream. If the server is killed, the
// lease ends when its TTL has passed.
package server
