// Package holdfast is a distributed lock on Redis and Valkey.
//
// A lease is not a proof. A process that is paused can act after its lease has
// ended, whatever lock it uses; what makes that harmless is the fence token,
// checked by the resource ([Lease.Eval], package fence). With that said, holdfast promises:
//
//   - While a master keeps its data and its clock does not jump forward, two
//     leases of a name never overlap: a holder's own view ends before the lock
//     can end in Redis. If somebody deletes the key, steals the name, or a
//     failover loses it, two may believe they hold it until the older one's next
//     answered renewal, at the latest its deadline.
//   - Tokens of a name are unique and rise with every lease, also after a crash,
//     and after Redis lost its data as long as its clock has not gone back.
//   - A holder learns of loss: the context from [Lease.Context] ends with its
//     cause, no later than the holder's deadline.
//   - First come, first served between processes. Waiting is by push: a release
//     makes the next waiter the holder in the same script.
//   - Nothing stays behind: what was abandoned is cleaned up, what died ends by
//     its TTL.
//
// # Use
//
// [New] makes a [Client] on a [Store], [Client.Mutex] names a lock,
// [Mutex.Lock] waits and returns a [Lease], [Lease.Release] gives it back. The
// context given to Lock bounds the wait, not the hold; [Do] does all of it.
// [Client.Election] elects a leader by such a lock, and [Client.Multi] locks
// several names.
//
// [Client.Once] runs a function at most once per interval among all machines, by
// [Mutex.MinHold]: a name that is given back early rests. [Mutex.MaxHold] ends a
// lease that lasts too long, and [Mutex.Grace] says when its name is free then.
//
// [Client.RWMutex] locks a name for many readers or one writer, and
// [Client.Semaphore] gives out permits, with the same leases, waiting and order.
//
// [NewQuorum] makes a Client that locks on a majority of independent masters.
//
// # Words
//
// A name is what the user locks. A tenure is one process's hold of it in Redis, from
// grant to release or expiry; a lease is what one caller holds, a turn within a tenure.
// A waiter is a tenure that was asked for and is not granted yet, of a mutex one for each
// process and name; callers of one process that want the same name stand in its line. A
// grant is Redis making a waiter the holder; where it is pushed the claim window, 2 s or
// the ttl if that is shorter, is how long it lasts until its first renewal. The token is
// the number that a resource checks, a stride a range of tokens that is reserved at once.
//
// To hand over is to give the name to the next waiter. A recall tells the holder that
// another process waits, next tells the new head until when it must wait. A ghost is
// an id in Redis that nobody is behind. The owner is the label that people read.
//
// # Limits
//
// First come first served and two commands per acquisition hold on one master.
// Clients of other libraries that poll the same key exclude us and are excluded,
// but have no place in the line. A lock that outlives a lost machine costs one
// TTL, or what is left of its MinHold. Whoever can write to the keys can break the lock.
package holdfast
