// Package goredisstore lets holdfast talk to Redis and Valkey through go-redis:
// one server, Sentinel or Cluster.
//
// Its limits first. A client that was not made here keeps its own settings:
// go-redis repeats by itself what failed, looks at deadlines only with
// ContextTimeoutEnabled, and makes ten connections per processor, for which many
// callers at once wait; Open sets all that. A call ends with its context, but one
// whose deadline is within five seconds is not ended by a cancel before that; and
// its connection is only free when the server answers or a timeout of the client
// passes. A server that froze is noticed by who asks it, and a subscription to it
// by Ping: nothing is sent in between. With Sentinel, subscriptions of a store
// that Open made end when the client connects to another master, those of a
// client that was made elsewhere only when the old master's connections end.
// Hooks of a client do not see subscriptions, and go-redis logs every dial that
// fails to a logger of its own (redis.SetLogger). Cluster needs Redis 7 or
// Valkey; a Ring will not do.
//
// The driver holds no lock logic and repeats nothing but what Cluster redirects
// (MOVED, ASK): what fails is reported, and the core decides. In a
// Cluster the subscriptions to one node share a connection; elsewhere each has its own.
package goredisstore
