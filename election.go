package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Election chooses one of many candidates to lead until it resigns or its term is lost.
// It is a lock: the leader holds the name, its lease is the term, and the fencing token
// is the number of the term. A [Mutex] of the same name excludes the candidates. A
// leader announces its term to observers by a message. An Election has no state of its
// own and is safe for concurrent use, for example by [Lead] and Observe at the same
// time. Make it with [Client.Election].
type Election struct {
	// MaxHold ends a term after this long, like [Mutex.MaxHold]. Set it before the
	// first use. A negative value panics.
	MaxHold time.Duration

	// Grace is how long the name stays held after MaxHold without a Release, like
	// [Mutex.Grace]. Until then observers see this leader.
	Grace time.Duration

	client *Client
	name   string
}

// Election returns the election of a name. Campaign, Leader and Observe return
// [ErrName] if the name cannot be a key.
func (c *Client) Election(name string) *Election { return &Election{client: c, name: name} }

// Name returns the name of the election.
func (e *Election) Name() string { return e.name }

// ErrValue means that the value of a candidate is not allowed. A [*ValueError] has the
// reason.
var ErrValue = errors.New("holdfast: bad value")

// MaxValue is the longest value of a candidate, in bytes.
const MaxValue = keyspace.MaxOwner

// ValueError has the reason for which a candidate's value was refused.
type ValueError struct {
	Value  string
	Reason string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("holdfast: value %q %s", keyspace.Shorten(e.Value), e.Reason)
}

// Unwrap returns [ErrValue].
func (e *ValueError) Unwrap() error { return ErrValue }

// checkValue refuses what keyspace.CleanOwner would change: half an address is worse
// than none.
func checkValue(value string) error {
	switch {
	case len(value) > MaxValue:
		return &ValueError{value, fmt.Sprintf("has %d bytes: at most %d are allowed", len(value), MaxValue)}
	case keyspace.CleanOwner(value) != value:
		return &ValueError{value, `begins or ends with a space, or contains "|" or an unprintable character`}
	}
	return nil
}

// Campaign waits until this candidate leads, first come, first served, and returns the
// lease of the term. [Lease.Release] resigns. Candidates of one Client queue like those
// of other Clients.
//
// The value describes the leader to others, often as an address. It has at most
// [MaxValue] printable bytes without "|". If it is empty, it is [Options.Owner].
// [Lease.Proclaim] changes it.
//
// ctx limits only the wait, not the term. Campaign waits up to 250 ms for the
// announcement of the term before it returns. The errors are [ErrValue] and those of
// [Mutex.Lock]. If a leader dies, its term lasts until the ttl ends; then the next
// candidate leads.
func (e *Election) Campaign(ctx context.Context, value string) (*Lease, error) {
	c := e.client.core
	if value == "" {
		value = c.options.Owner
	}
	if err := checkValue(value); err != nil {
		return nil, err
	}
	m := &Mutex{client: e.client, name: e.name, candidate: c.process.CandidateKind(value), MaxHold: e.MaxHold, Grace: e.Grace}
	lease, err := m.Lock(ctx)
	if err != nil {
		return nil, err
	}
	lease.elected(ctx)
	return lease, nil
}

// announceWait is how long a leader waits until its term is known to others. It
// leads also when that takes longer.
const announceWait = 250 * time.Millisecond

// elected announces a term, now and again.
func (l *Lease) elected(ctx context.Context) {
	c := l.client.core
	if !l.turn.Announces() {
		return
	}
	c.mu.Lock()
	announced := c.whenCleaned(c.process.Elected(l.turn, c.clock.Now()))
	c.unlock()
	t := time.NewTimer(announceWait)
	defer t.Stop()
	select {
	case <-announced:
	case <-t.C:
	case <-ctx.Done():
	case <-c.stopped:
	}
}

// resigned notifies observers that the term is over.
func (l *Lease) resigned() {
	c := l.client.core
	c.mu.Lock()
	defer c.unlock()
	c.process.Resigned(l.turn, c.clock.Now())
}

// Leader is the leader of an election at one moment in Redis. The zero Leader means
// that nobody leads.
type Leader struct {
	Value     string        // newest value of the leader, or the owner if the name is held as a Mutex; empty if foreign
	Term      int64         // token of the lease; 0 if not announced, or if the nodes of a quorum do not agree
	Hash      string        // identifies the tenure, like Hash of admin.Holder: pass it to Revoke or Steal of package admin
	Foreign   bool          // the name is held by a client of another library
	Own       bool          // this Client holds the name
	Remaining time.Duration // until expiry in Redis without a renewal; negative if it has none
}

// None reports whether there is no leader.
func (l Leader) None() bool { return l.Hash == "" }

// Leader returns the current leader, or the zero [Leader] if nobody leads. A leader
// whose process hangs still leads until its term expires.
//
// Errors: [ErrName], [ErrUnreachable], [ErrClosed], a [driver.ServerError], or the error of
// ctx.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	c := e.client.core
	k, err := c.openKeys(e.name)
	if err != nil {
		return Leader{}, err
	}
	view, err := c.servers.leader(ctx, e.name, k, c.process.Patience())
	return Leader(view.Leader), err
}
