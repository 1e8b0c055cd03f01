// Package rueidisstore connects holdfast to Redis and Valkey through rueidis:
// one server, Sentinel or Cluster.
//
// [Open] makes a client from a URL with settings that suit a lock. [New] takes
// a client that the program has already.
//
// The limits of a client that [New] gets: it keeps its own settings. With
// rueidis' defaults it notices a frozen server after about 12 s. It may also
// open up to 1,024 connections per node for subscriptions. [Open] sets shorter
// times and one connection.
//
// The limits of every client:
//
//   - A context ends a call on an established connection. It does not end a
//     call that waits for a new connection; that takes up to the dial timeout.
//   - A deadline that passes while the connection carries nothing else closes
//     the connection. With a frozen server, every second call then waits for a
//     new one.
//   - A frozen master is given up when its connections are, after 5 to 7 s.
//     Sentinel or Cluster may have another master long before. A master that
//     died is given up at once.
//   - If one server answers that it is a replica, the driver closes its
//     connection (QUIT) and dials again, at most once a second. So it follows an
//     address that moves to another server: a DNS name, a virtual IP. Other
//     commands on this connection may fail then. See [driver.Redial].
//   - With Sentinel, subscriptions end as soon as the client connects to
//     another master. With SendToReplicas they do not.
//   - Cluster needs Redis 7 or Valkey.
//
// The driver has no lock logic. It repeats only what Cluster redirects (MOVED,
// ASK) and what a replica refused, and reports every other error. In a Cluster the subscriptions to one
// node share a connection; elsewhere each has its own. A connection counts
// double if the server speaks only RESP2.
package rueidisstore
