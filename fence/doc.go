// Package fence is the other half of a lock: the resource that refuses writes
// with old tokens.
//
// A lease is not a proof. A process that is paused can write after its lease has
// ended, and no lock can keep it from that. So every lease has a token, higher than
// all before it ([holdfast.Lease.Token]), every write carries it, and what is
// written to remembers the highest it has seen and refuses lower ones. Here are
// three such resources: [Gate] within a process, [Handler] before an HTTP service,
// [Table] beside the rows of a database. For Redis there is [holdfast.Lease.Eval].
//
// Two rules make it work, and both are easy to break:
//
//   - Check and write are one step. A token that is checked first and written with
//     later can have become old in between: check within the transaction, or keep
//     newer ones waiting, as Gate.Enter does.
//   - A new holder advances the fence before it reads. Else a late write of the
//     holder before can come after the reading, and what follows from it is wrong.
//
// Equal tokens pass: a lease writes as often as it likes, and retries. Tokens are
// compared for one resource only, and all its writers must lock the same name.
package fence
