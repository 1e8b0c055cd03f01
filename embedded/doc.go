// Package embedded is a Redis-compatible store inside the process. Use it for a
// first look, for demonstrations, and in the tests of programs that use
// holdfast.
//
// Its limits:
//
//   - It locks nothing between machines, forgets everything when the process
//     ends, and cannot fail over.
//   - It runs one command at a time. A script costs about 0.2 ms. Each key name
//     ever used takes about 100 bytes until Close.
//   - The server inside is miniredis. ACLs, CONFIG, WAITAOF, sharded channels
//     and keyspace events return an error. So do MULTI, WATCH, blocking
//     commands, a second database, expiring hash fields and RESTORE.
//   - An error that a script raises as text begins as it does in Redis, but
//     does not say where it was raised.
//
// Otherwise it behaves as Redis does. Keys expire by a real clock, to the
// millisecond. TIME stands still while a script runs, and no key expires during
// a script. The clock stops while the machine is suspended, so a lock may last
// longer than its TTL, but never shorter.
//
// A Store needs no socket, no timer, and only one or two goroutines per
// subscription. All of them end with Close. So it works inside a
// testing/synctest bubble: keys expire by the clock of the bubble, and so do
// the leases of a Client made in it. Close the Client inside its bubble,
// because a dropped one is not noticed there.
//
// [Store.Connect] gives a test a client whose connection it can cut. The
// example "Testing" loses a lease, a holder, and Redis. [Store.Listen] opens
// the Store to redis-cli and to other processes of the same machine.
package embedded
