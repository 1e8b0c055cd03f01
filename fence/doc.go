// Package fence refuses writes with stale fencing tokens. It runs at the resource
// that a lock protects.
//
// A lock alone does not protect a resource: a process that is paused can write after
// its lease has ended. So each lease has a token that is higher than all earlier
// tokens of its name, [holdfast.Lease.Token]. Every write carries the token, and the
// resource remembers the highest token and refuses lower ones. This package has such
// resources: [Gate] in a process, [Handler] in front of an HTTP service, [Table] and
// [MySQL] beside the rows of a database. For Redis use [holdfast.Lease.Eval].
//
// Two rules make it work:
//
//   - Check and write in one step. A token that you check first and write with later
//     can become stale in between. Check inside the transaction, or make newer tokens
//     wait, as Gate.Enter does.
//   - Advance the fence before you read. Otherwise a late write of the previous
//     holder can come after your read, and your decision uses an old value.
//
// Equal tokens pass, so one lease can write many times and can retry. Tokens are
// comparable for one name only: all writers of a resource must lock the same name.
package fence
