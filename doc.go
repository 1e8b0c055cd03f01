// Package holdfast is a distributed lock on Redis and Valkey. A lease is not a proof: a
// paused process can act after its lease has ended, with any lock. So the resource
// should check the fencing token of each lease: see [Lease.Token], [Lease.Eval] and
// [package fence].
//
// [New] makes a [Client] on a store of package rueidisstore, goredisstore or embedded:
//
//	store, err := rueidisstore.Open("redis://localhost:6379", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	client := holdfast.New(store, nil)
//	defer client.Close()
//
//	err = holdfast.Do(ctx, client.Mutex("invoice:42"),
//		func(ctx context.Context, lease *holdfast.Lease) error {
//			return pay(ctx, lease.Token()) // ctx ends if the lease is lost
//		})
//
// # Promises
//
//   - Exclusion: two leases of a name never overlap while a master keeps its data and
//     its clock does not jump forward. If another client deletes the key or steals the
//     name, or a failover loses it, two processes can believe that they hold it. That
//     ends at the older holder's next answered renewal, at the latest at its deadline.
//   - Tokens: each lease has a token that is unique and greater than all before, also
//     after a crash, while Redis remembers the newest token of the name (25 h after its
//     last use, see [Options.TokenMemory]). After that, and after Redis has lost its data,
//     that holds if its clock has not gone back.
//   - Loss is visible: the context from [Lease.Context] ends with its cause, no later
//     than the holder's deadline.
//   - Fairness: first come, first served, between processes. A release makes the first
//     waiter the holder in the same script and notifies it. A frozen Client in front
//     costs the others 2 s and keeps its places. If it is one of more than 15 that wait
//     for a mutex, the others may wait 13 s more, once.
//   - Cleanup: the client removes what an abandoned call leaves in Redis. The keys of a
//     dead process expire.
//
// # Limits
//
// A queue exists on one master, also behind Sentinel, and in a Cluster. A quorum has
// none, see [NewQuorum]. Clients of other libraries that poll the same key are excluded
// and exclude others, but have no place in the queue. The name of a dead process stays
// locked for up to one TTL, or for the remaining [Mutex.MinHold]. Every client with
// write access to the keys can break the lock.
//
// # Terms
//
// A name is what you lock. A tenure is one Client's hold of a name in Redis. A lease
// is one caller's turn within a tenure. A holder has a lease, and a waiter is in the
// queue for one. The owner is a label for people. The [glossary] defines all terms.
//
// # Further reading
//
//   - Locks: [Mutex], [RWMutex], [Semaphore], [Multi]
//   - Scheduled jobs: [Client.Once], [Client.OnceEvery]
//   - Leaders: [Election], [Lead]
//   - Handing a lock to another process: [Lease.Export], [Client.Adopt]
//   - Operation: [package admin] shows names and ends leases, admin/diagnose explains what
//     it shows, and admin/doctor checks a server
//   - Independent masters: [NewQuorum]; [package quorum] makes and changes the members
//   - Your own store: [package driver], and driver/drivertest to test it
//   - Without a server: package embedded runs its examples, and your tests, in memory
//
// The [guide] explains how to choose, operate and test them.
//
// [package admin]: https://pkg.go.dev/github.com/holdfast-go/holdfast/admin
// [package driver]: https://pkg.go.dev/github.com/holdfast-go/holdfast/driver
// [package fence]: https://pkg.go.dev/github.com/holdfast-go/holdfast/fence
// [package quorum]: https://pkg.go.dev/github.com/holdfast-go/holdfast/quorum
// [glossary]: https://github.com/holdfast-go/holdfast/blob/main/docs/glossary.md
// [guide]: https://github.com/holdfast-go/holdfast/tree/main/docs/guide
package holdfast
