// Package ballot makes the nodes of a quorum look like one server without a queue. It does no
// I/O, starts nothing, and reads no clock: its user gives it each request ([Ballot.Ask]), each
// answer of a node ([Ballot.Answered]) and the time ([Ballot.Tick]). The Ballot calls the methods
// of [Host] to send something, and to answer a request.
//
//	            Ask                       Send, to each node
//	Client ---------------> Ballot --------------------------> nodes
//	       <---------------        <--------------------------
//	            Answer                    Answered
//
// Each request gets at most one answer. docs/quorum.md has the protocol. What each kind of
// request means here:
//
//   - [Lock] is one try to win the name, under an id that serves only this try. The answer is
//     "granted" with the token of the majority, from which 64 are reserved, and begins when Lock
//     was asked; "held", if another tenure has a majority, or the votes are split again and
//     again; "split", if the next try may win; "too slow"; or an error, which may be a
//     [*Denied]. A try whose id is undone before has no answer. After "held" and "split" the
//     next try, with a new id, is due in Answer.PollIn. What a lost try has left on the nodes is
//     undone here.
//   - [Renew] and [Held] answer "renewed" and "ours" if a majority has the name for the id, and
//     "lost" if a majority cannot have it any more. What a minority still has is undone here. A
//     node that lacks the lock is repaired while a majority has it.
//   - [Unlock] answers "released" when a majority has confirmed it. If fewer do, it is an error,
//     and the next Unlock of the id asks the nodes that have not confirmed.
//   - [Undo] ends an id in the background, on each node until it is confirmed or the id has
//     expired there. The answer is "released" when that has ended on a majority.
//
// A request may yet reach a node that did not answer. The Ballot keeps in mind what such nodes are
// owed, and Owed returns it after Close.
package ballot
