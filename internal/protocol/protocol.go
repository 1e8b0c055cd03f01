// Package protocol has the numbers of docs/protocol.md that Go and the Lua scripts share. Each
// is stated here alone: internal/script puts them into the scripts. A number that only scripts
// use stands there, in numbers.go.
package protocol

import "time"

// Times.
const (
	// ClaimWindow is the longest time in which a waiter must claim a pushed grant. A head of a
	// shared lock that does not poll for this long counts as silent.
	ClaimWindow = 2 * time.Second

	// QueueTTL is how long a queue outlives the last request of a waiter. A client remembers the
	// ids that may stand in a queue for as long.
	QueueTTL = 30 * time.Minute

	// RecordTTL is how long Redis keeps what must outlive a day without a lease.
	RecordTTL = 25 * time.Hour

	// OnceTTL is how long Redis keeps the record of Once at least. A late request is long over then.
	OnceTTL = 10 * time.Minute

	// MaxQuorumTTL is the longest TTL on a quorum. A restarted node does not vote for this long.
	MaxQuorumTTL = time.Minute

	// MaxComeBack is the longest time that a waiter of a quorum needs until its next poll reaches
	// the nodes.
	MaxComeBack = 625 * time.Millisecond
)

// How waiters poll while nothing is pushed to them.
const (
	// PollPerWaiter is how much later a waiter polls for each waiter in front of it.
	PollPerWaiter = 50 * time.Millisecond

	// FrontSize is how many waiters are notified when the queue in front of them gets shorter.
	FrontSize = 16

	// FrontPoll bounds how long a waiter at the front trusts the ttl of the holder. The holder may
	// hand over to a frozen process, and name another frozen one as the next. So a waiter polls
	// after a claim window and most of the second for which a free name may be idle.
	FrontPoll = ClaimWindow + 900*time.Millisecond
)

// Tokens and sizes. A token is never below the server's clock: it grows by two each microsecond.
const (
	TokensPerMicrosecond = 2
	TokenBlock           = 64      // tokens that a grant and a vote reserve
	MaxToken             = 1 << 53 // the first number that a float64 can't tell from its neighbour
	MaxText              = 1023    // bytes of a stored text; a longer one is foreign
	MaxSize              = 1 << 30 // of a semaphore
	Nonce                = 11      // letters in the nonce of an id; a longer one says for how long tokens are remembered
)
