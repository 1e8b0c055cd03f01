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
// Each request gets at most one answer. docs/quorum.md has the protocol. What each [Op]
// means here:
//
//   - [Lock] is one try to win the name, under an id that serves only this try. The answer is
//     "granted" with the token of the majority, from which 64 are reserved, and counts from when Lock
//     was asked; "held", if another tenure has a majority, or the votes were split
//     maxSplits times in a row; "split", if the next try may win; "too slow"; or an error, which may be a
//     [*Denied]. A try whose id is undone before it is decided has no answer. After "held" and "split" the
//     next try, with a new id, is due in Answer.PollIn. The
//     Ballot removes what a lost try has left on the nodes.
//   - [Renew] and [Held] answer "renewed" and "ours" if a majority has the name for the id, and
//     "lost" if no majority can have it any more. Then the Ballot removes the id from the other
//     nodes. While a majority has the name, the Ballot repairs a node that lacks the lock.
//   - [Unlock] answers "released" when a majority has run it. If fewer have, the answer is an
//     error, and the next Unlock of the id asks only the other nodes.
//   - [Undo] ends an id in the background, on each node until the node has answered or the
//     id has expired there. The answer is "released" when a majority of the nodes is done.
//
// A request may reach a node late, after the Ballot has given up waiting for the answer. The
// Ballot notes which ids it must remove from such a node. Owed returns these calls after Close.
package ballot
