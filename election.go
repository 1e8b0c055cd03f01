package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
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
const MaxValue = keyspace.MaxOwner // 64

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

// validateValue refuses a value that keyspace.CleanOwner would change: half an address is
// worse than none.
func validateValue(value string) error {
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
	c := e.client.engine
	value = cmp.Or(value, c.Owner)
	if err := validateValue(value); err != nil {
		return nil, err
	}
	lease, err := (&Mutex{client: e.client, name: e.name, kind: c.CandidateKind(value), MaxHold: e.MaxHold, Grace: e.Grace}).Lock(ctx)
	if err == nil {
		c.Announce(ctx, lease.turn)
	}
	return lease, err
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
	defer runtime.KeepAlive(e.client) // else the garbage collector may close it during the call
	leader, err := e.client.engine.Leader(ctx, e.name)
	return Leader(leader), publicError(err)
}

// Observe yields the leader at once and then after each change, in order and never the
// same twice in a row. It yields the zero [Leader] while nobody leads; see
// [Leader.None]. A leader that resigned and was elected again is a new leader. Observe
// yields the same leader again when it proclaims a new value, and when Term changes
// from 0 to the number of the term.
//
// Observe may skip a leader that leads only briefly. If several changes happen while
// the body of your loop runs, Observe then yields only the newest state.
//
// If Redis does not answer or refuses, Observe yields the error once and continues to
// poll. When Redis answers again, Observe yields the leader, even if it did not change.
// Observe ends when ctx ends, when the loop breaks, and after [ErrName] or [ErrClosed].
//
// Leaders announce most changes, so Observe notices them at once. Observe also polls at
// the time when the key would expire, and at least every 15 s. It polls every second if
// it may not subscribe, if the Client uses a quorum, or if the holder sends no
// announcement, as a Mutex. The observers of an election in one Client share a subscription.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		defer runtime.KeepAlive(e.client) // else the garbage collector may close it during the call
		e.client.engine.Observe(ctx, e.name, func(l election.Leader, err error) bool { return yield(Leader(l), publicError(err)) })
	}
}

// Proclaim changes the value of the leader whose term this lease is. Leader, Observe
// and Inspect show it. The value has the limits of [Election.Campaign]; an empty value
// is [Options.Owner]. Values take effect in the order of the calls, also if one arrives
// late or twice.
//
// Proclaim blocks until Redis answers or ctx ends. A nil error means that Redis has
// stored this value, or a later one of this lease, during the term. After
// [ErrUnreachable] or the error of ctx, the client retries in the background for one
// ttl and with each later announcement, every 5 min.
//
// Errors: [ErrLost] and [ErrReleased], if the term is over; [ErrValue]; a
// [driver.ServerError]. A lease that is not of an [Election], or is of a quorum, returns an
// error. A failover can lose the newest value until the next announcement.
func (l *Lease) Proclaim(ctx context.Context, value string) error {
	defer runtime.KeepAlive(l.client) // else the garbage collector may close it during the call
	e := l.client.engine
	value = cmp.Or(value, e.Owner)
	lacks := l.client.lacks(l.Name(), "Proclaim")
	switch {
	case lacks != nil:
		return lacks
	case l.turn.Name.Kind.Term == nil:
		return wire.Failure(l.Name(), nil, errors.New("Proclaim is for the lease of an Election"))
	}
	if err := cmp.Or(validateValue(value), ctx.Err()); err != nil {
		return err
	}
	return publicError(e.Proclaim(ctx, l.turn, value))
}

// Lead campaigns with value and runs f while this candidate leads. It campaigns again
// after each loss. It returns when f returns during its term, when ctx ends, or after
// an error that no retry can solve.
//
// The context of f ends when the term is lost or ctx ends. f should return then: Lead
// waits for it. For periodic work, let f loop until its context ends. If one step
// fails, log the error and continue, or return it to resign.
//
// If f returns during its term, Lead resigns and does not campaign again. It returns
// the error of f, joined with [ErrUnknown] if Redis did not confirm the release. Lead
// does the same if ctx ends while f runs: it waits for f, resigns, and returns the error
// of f, which may be nil. If ctx ends while Lead waits, it returns the error of ctx. If
// f panics, Lead resigns, and the panic continues.
//
// To shut down, cancel ctx, wait until Lead has returned, and then call [Client.Close].
// If you call Close first, the term is lost, and Lead returns [ErrClosed].
//
// If the term was lost, Lead ignores the result of f and does not log it. It releases
// the name if a revocation or MaxHold ended the term. Then it campaigns again, at the
// end of the queue.
//
// If Redis is unreachable or too slow, or has too few replicas, Lead logs this and
// tries again. The pause between two tries grows from 100 ms to 5 s, and each try can
// take one TTL. After other errors of [Election.Campaign], Lead returns the error.
func Lead(ctx context.Context, election *Election, value string, f func(ctx context.Context, lease *Lease) error) error {
	backoff := leadBackoff
	for {
		lease, err := election.Campaign(ctx, value)
		switch {
		case err == nil:
			backoff = leadBackoff
			if lost, err := term(ctx, lease, f); !lost {
				return err
			}
		case ctx.Err() != nil || !worthRetry(err):
			return err
		default:
			election.client.engine.Logger.Warn("holdfast: cannot campaign; trying again", "name", election.name, "error", err)
			select {
			case <-time.After(backoff/2 + time.Duration(election.client.engine.Random()%uint64(backoff))):
			case <-ctx.Done():
				return ctx.Err()
			}
			backoff = min(2*backoff, 5*time.Second)
		}
	}
}

const leadBackoff = 100 * time.Millisecond

// worthRetry reports whether Campaign may succeed at the next try after this error.
func worthRetry(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTooSlow) || errors.Is(err, ErrReplicas)
}

// term runs f, and resigns when f returns or panics.
func term(ctx context.Context, lease *Lease, f func(context.Context, *Lease) error) (lost bool, err error) {
	defer func() {
		released := lease.Release()
		if lost = errors.Is(released, ErrLost); !lost {
			err = joined(err, released)
		}
	}()
	return false, f(lease.Context(ctx), lease)
}
