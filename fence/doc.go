// Package fence refuses writes with stale fencing tokens. It runs at the resource
// that a lock protects.
//
// A lock alone does not protect a resource: a process that is paused can write after
// its lease has ended. So each lease has a token, [holdfast.Lease.Token], that is higher
// than all earlier tokens of its name. Every write carries the token. The resource
// remembers the highest token and refuses lower ones. This package does the check:
// [Gate] in a process, [Handler] in front of an HTTP service, [Table] and [MySQL] in
// the database of your rows. For Redis use [holdfast.Lease.Eval].
//
// Follow two rules:
//
//   - Check and write in one step. If you check the token first and write later, it
//     can become stale in between. Check inside the transaction, or make newer tokens
//     wait, as Gate.Enter does.
//   - Record your token in the resource before you read (Advance, Enter). Otherwise a
//     late write of the previous holder can come after your read, and your decision
//     uses an old value.
//
// Equal tokens pass, so one lease can write many times and can retry. Tokens are
// comparable only within one name: all writers of a resource must lock the same name.
package fence
