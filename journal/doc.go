// Package journal records the events of locks in one capped stream in Redis. From it,
// [Audit] proves afterwards that no two leases of a name overlapped.
//
// The journal has limits. It never delays a lock: a [Writer] writes entries in batches,
// usually within 0.1 s. A killed process loses the entries that it has not written.
// While Redis does not accept entries, a Writer buffers them up to a limit and then
// drops them. It counts and records what it dropped, and Audit does not prove anything
// about that time. A Writer writes a few thousand entries per second at most. A user
// with write access to the stream can forge entries.
//
// A Writer receives the events of a Client and notes of the program:
//
//	writer := journal.NewWriter(store, nil)
//	client := holdfast.New(store, &holdfast.Options{OnEvent: writer.OnEvent})
//	...
//	client.Close() // first: its last events are then in the journal
//	writer.Close()
//
// [Read] and [Follow] return entries. [Jobs] returns the state of jobs.
//
// # Time
//
// The clocks of processes differ, so their times cannot be compared directly. A Writer
// regularly asks the server for its time and computes the offset of its clock with an
// error bound. [Entry.At] is the server's time, correct to within [Entry.Uncertainty],
// usually half a round trip. Events of one Writer are compared by its own clock,
// exactly. Audit reports an overlap only if no clock error can explain it.
// [Report.Uncertainty] is the longest overlap that clock errors could have hidden.
package journal
