// Package embedded is a Redis-compatible store inside the process. Use it for a
// first look, for demonstrations, and in the tests of programs that use
// holdfast.
//
// Its limits:
//
//   - It does not lock between machines, loses its data when the process ends,
//     and has no failover.
//   - It runs one command at a time. A script costs about 0.2 ms. Each key name
//     ever used takes about 100 bytes until Close.
//   - The server inside is miniredis. ACLs, CONFIG, WAITAOF, sharded channels
//     and keyspace events return an error. So do MULTI, WATCH, blocking
//     commands, a second database, expiring hash fields and RESTORE.
//   - The message of a script error has the same beginning as in Redis, but no
//     line number.
//
// Otherwise it behaves as Redis does. Keys expire as time passes, to the
// millisecond. The time of TIME does not change while a script runs, and no key
// expires during a script. The clock stops while the machine is suspended, so a
// lock may last longer than its TTL, but never shorter.
//
// A Store needs no socket, no timer, and only one or two goroutines per
// subscription. So it works inside a testing/synctest bubble: keys and leases
// expire by the clock of the bubble. Close each Client inside its bubble: there
// the garbage collector does not close a Client that you forgot. Closing the
// Clients also ends their subscriptions, so a test need not close the Store.
//
// [Store.Connect] returns a [Connection]: a store for one Client, which a test
// can cut off. The example "Testing" simulates the loss of a lease, a holder, and Redis.
// [Store.Listen] opens the Store to redis-cli and to other processes of the same
// machine.
package embedded
