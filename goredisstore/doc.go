// Package goredisstore connects holdfast to Redis and Valkey through go-redis:
// one server, Sentinel or Cluster.
//
// [Open] makes a client from a URL with settings that suit a lock. [New] takes
// a client that the program has already.
//
// The limits of a client that [New] gets: it keeps its own settings. By default
// go-redis repeats failed commands by itself. It obeys deadlines only with
// ContextTimeoutEnabled. It makes ten connections per processor, so that many
// concurrent callers wait for one. [Open] sets all three.
//
// The limits of every client:
//
//   - A call ends with its context. If its deadline is within 5 s, a cancel
//     before the deadline does not end it. Its connection is free only when the
//     server answers or a timeout of the client passes.
//   - A frozen server is noticed by the next call, and by a Ping on each
//     subscription.
//   - With Sentinel, subscriptions of a store that [Open] made end when the
//     client connects to another master. Subscriptions of a store that [New]
//     made end only with the connections of the old master.
//   - Hooks of a client do not see subscriptions.
//   - go-redis logs every failed dial to a logger of its own (redis.SetLogger).
//   - Cluster needs Redis 7 or Valkey. A Ring does not work.
//
// The driver has no lock logic. It repeats only what Cluster redirects (MOVED,
// ASK), and reports every other error. In a Cluster the subscriptions to one
// node share a connection; elsewhere each has its own.
package goredisstore
