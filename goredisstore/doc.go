// Package goredisstore connects holdfast to Redis and Valkey through go-redis:
// one server, Sentinel or Cluster.
//
// [Open] makes a client from a URL with settings that suit a lock. [New] takes
// a client that your program already has.
//
// A client that [New] gets keeps its own settings. Set three of them, as [Open] does:
//
//   - ContextTimeoutEnabled: true. Otherwise each call needs a goroutine, and its
//     connection is not free at the deadline of the call.
//   - MaxRetries: -1. Otherwise go-redis repeats failed commands in a Cluster or
//     with Sentinel by itself. holdfast repeats them, too.
//   - PoolSize: 512. The default is ten connections per processor. If more callers
//     use the client at the same time, they wait for a connection.
//
// The limits of every client:
//
//   - A call ends at the deadline of its context. With ContextTimeoutEnabled, a
//     cancel ends a call only if its deadline is 5 s or more away. The connection
//     stays in use until the server answers or a timeout of the client passes.
//   - A frozen server is noticed by the next call, and by a Ping on each
//     subscription.
//   - If one server answers that it is a replica, the driver closes the idle
//     connections of the client (QUIT) and dials again, at most once a second. So
//     it follows an address that moves to another server: a DNS name, a virtual
//     IP. A wrapper needs the method PoolStats of *redis.Client for that; without
//     it the driver logs a warning once, and each connection is closed when it is
//     used and gets READONLY. See [driver.Redial].
//   - With Sentinel, the subscriptions of a store from [Open] end when the client
//     connects to another master. The subscriptions of a store from [New] end
//     only when the connections to the old master end.
//   - Hooks of a client do not see subscriptions.
//   - go-redis logs every failed dial to a logger of its own (redis.SetLogger).
//   - Cluster needs Redis 7 or Valkey. A Ring does not work.
//
// The driver has no lock logic. It repeats a command only if a Cluster redirects it
// (MOVED, ASK) or a replica refused it, and returns every other error. A refused login
// (WRONGPASS, NOAUTH) is an outage, as if the server did not answer. In a Cluster the subscriptions to one
// node share a connection; elsewhere each has its own.
package goredisstore
