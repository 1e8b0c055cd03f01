// Package journal writes down what happened to locks, in one capped stream in
// Redis, and proves from it afterwards that no two leases of a name overlapped.
//
// Its limits first. The journal stands beside the locks and never in their way:
// entries are written in batches a moment later, so what a process that is killed
// had not written yet (a tenth of a second, as a rule) is missing, and while Redis
// does not take them they are kept within bounds, and then dropped. What was
// dropped is counted, the count is written, and [Audit] says that it can't prove
// what it has not seen. A process writes a few thousand entries a second and no
// more; turns within one process can be hundreds of times as many. Whoever may
// write to the stream can write a lie into it: it is no evidence against one who
// means harm.
//
// A [Writer] takes the events of a Client and notes of the program:
//
//	writer := journal.NewWriter(store, nil)
//	client := holdfast.New(store, &holdfast.Options{OnEvent: writer.OnEvent})
//	...
//	client.Close() // first: its last events are then in the journal
//	writer.Close()
//
// [Read] and [Follow] give entries back, [Jobs] what is remembered of jobs.
//
// # Time
//
// Events happen in processes whose clocks differ, so their times can't be compared
// as they are. A Writer asks the server for its time now and then: the answer was
// made between its sending and its coming, which bounds how far the two clocks are
// apart, and the narrowest such bounds of late, widened by what clocks drift, turn
// its own time into the server's. [Entry.At] is right to within [Entry.Within],
// half a round trip as a rule. Two events of one Writer are compared by its own
// clock, exactly. So an overlap is called one only where no error of the clocks can
// explain it, and [Report.Uncertainty] is the longest that they could have hidden.
package journal
