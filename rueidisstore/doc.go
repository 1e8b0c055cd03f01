// Package rueidisstore lets holdfast talk to Redis and Valkey through rueidis:
// one server, Sentinel or Cluster.
//
// Its limits first. A client that was not made here keeps its own settings, and
// with rueidis' defaults a server that froze is noticed only after about twelve
// seconds, and takes 1,024 connections per node for subscriptions, which in
// Cluster means contended names; Open sets shorter times and a larger number. A
// context ends a call on an established connection, but not one that waits for a
// connection to be made, which may take the dial timeout; and a deadline that
// passes while nothing else is on its way closes the connection, so that with a
// server that froze every second call waits for that. A master that froze is
// given up when its connections are, five to seven seconds later, although
// Sentinel or Cluster may have another long before; one that died, at once. With
// Sentinel, subscriptions end as soon as the client goes to another master, but not
// those of a client with SendToReplicas. Cluster needs Redis 7 or Valkey.
//
// The driver holds no lock logic and repeats nothing but what Cluster redirects
// (MOVED, ASK): what fails is reported, and the core decides. In a
// Cluster the subscriptions to one node share a connection; elsewhere each has its own.
// A connection counts double if the server speaks only RESP2.
package rueidisstore
