// Package rueidisstore lets holdfast talk to Redis and Valkey through rueidis:
// one server, Sentinel or Cluster.
//
// Its limits first. A client that was not made here keeps its own settings, and
// with rueidis' defaults a server that froze is noticed only after about twelve
// seconds, and takes 1,024 connections per node for subscriptions, which in
// Cluster means contended names; Open sets shorter times and a larger number. A context ends a call on an established
// connection, but not one that is waiting for a connection to be made, which may
// take the dial timeout. A failover seen by Sentinel ends subscriptions only
// when the old master's connections end. Cluster needs Redis 7 or Valkey.
//
// The driver holds no lock logic and repeats nothing but what Cluster redirects
// (MOVED, ASK): what fails is reported, and the core decides. Each subscription
// has a connection of its own, two if the server speaks only RESP2.
package rueidisstore
