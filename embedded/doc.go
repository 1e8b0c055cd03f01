// Package embedded is a Redis-compatible store inside the process: for a first
// look, for demonstrations, and for the tests of programs that use holdfast.
//
// Its limits first. It locks nothing between machines, keeps nothing when the
// process ends, and cannot fail over. Every command of every caller runs one at
// a time, a script costs a fifth of a millisecond, and each key name ever
// used leaves about a hundred bytes behind until Close. The server underneath is
// miniredis: what it does not know (ACLs, CONFIG, WAITAOF, sharded channels,
// keyspace events) is an error here, and so are MULTI and WATCH, commands that
// block, a second database, expiring hash fields and RESTORE. An error raised in a
// script begins as it does in Redis, if it is text and no table, but does not say
// where it was raised.
//
// Within these limits it behaves as Redis does, and time is the point where it
// takes more care than the server it is made of: keys expire by a real clock, to
// the millisecond, at no cost per key; TIME stands still while a script runs;
// and nothing expires half-way through one. The clock does not run while the
// machine is suspended, so a lock may live longer here than its ttl, but never
// shorter.
//
// A Store needs no socket, no timer and no goroutine but one or two per
// subscription, all of which end with Close: it works inside a testing/synctest
// bubble, where keys expire by the bubble's clock, and so do the leases of a Client that
// was made in it. Close the Client inside its bubble, too: one that is dropped there is not
// noticed. Connect gives a test a client whose
// connection it can cut; the example "Testing" loses a lease, a holder, and Redis itself.
// Listen opens the Store to redis-cli and to other processes of the same machine.
package embedded
