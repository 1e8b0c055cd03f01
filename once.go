package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/once"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var (
	// ErrNotDue means that [Client.Once] or [Client.OnceEvery] did not run its
	// function, because the interval or tick already has a run. A [*NotDueError]
	// describes that run.
	ErrNotDue = errors.New("holdfast: not due")
	// ErrNeverRan means that Redis remembers no run of the name.
	ErrNeverRan = errors.New("holdfast: no run on record")
	// ErrSchedule means that the call gave another period or another tick than the schedule
	// of the name. A [*ScheduleError] has that schedule.
	ErrSchedule = errors.New("holdfast: another schedule")
)

// Run describes the newest run of [Client.Once] or [Client.OnceEvery] for a name. All
// times are from the clock of Redis. Redis stores the run for twice the interval, and for
// at least 10 minutes; that of OnceEvery for twice the period, and for at least 25 hours.
type Run struct {
	Tick    time.Time // the tick of OnceEvery; after Retryable the tick before it; zero for Once
	Owner   string    // label of the Client that ran the function
	Token   int64     // fencing token of its lease
	Began   time.Time
	Ended   time.Time // zero if the run has not ended, or its process died
	Outcome string    // Done, or the text of the error; empty if the run has not ended
}

// Done is the [Run.Outcome] of a run that returned nil and held its lease to the end.
const Done = "done"

// String returns one line for people.
func (r *Run) String() string { return once.Run(*r).String() }

// NotDueError means that [Client.Once] or [Client.OnceEvery] did not run its function. It
// describes the newest run and the holder of the name.
type NotDueError struct {
	Name      string
	Running   bool          // a client holds the name; it may be about to release it, if Last has ended
	Owner     string        // label of that client, or of the last one that held the name; empty if unknown
	DueIn     time.Duration // for OnceEvery, if the tick has begun: until the next tick; else until the name is free, at the earliest
	Last      *Run          // the newest run; nil if Redis stores none
	TickBegun bool          // only by OnceEvery: Last is the run of this tick
}

func (e *NotDueError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "holdfast: %s is not due", e.Name)
	ended := e.Last != nil && !e.Last.Ended.IsZero()
	switch {
	case e.Running && !ended:
		b.WriteString(": it is running")
		if e.Owner != "" {
			b.WriteString(" on " + e.Owner)
		}
	case e.Running && !e.TickBegun: // Last is an earlier run, or its holder is about to release the name
		b.WriteString(": its name is held")
		if e.Owner != "" {
			b.WriteString(" by " + e.Owner)
		}
	case e.DueIn > 0:
		fmt.Fprintf(&b, ": it is due again in %v", e.DueIn.Round(100*time.Millisecond))
	}
	if e.Last != nil {
		b.WriteString("; the newest run " + e.Last.String())
	}
	return b.String()
}

// Unwrap returns [ErrNotDue].
func (e *NotDueError) Unwrap() error { return ErrNotDue }

// Retryable wraps the error that the function of [Client.Once] or [Client.OnceEvery]
// returns. The run then does not count: the next call can run the function at once, in
// the same interval or tick.
//
// Retryable panics if err is nil. It has no effect if [Client.Close] has ended the run: such a run counts.
func Retryable(err error) error {
	if err == nil {
		panic("holdfast: Retryable needs an error")
	}
	return &runAgain{err}
}

type runAgain struct{ err error }

func (e *runAgain) Error() string { return e.err.Error() }

func (e *runAgain) Unwrap() error { return e.err }

// Once runs f at most once per interval among all callers with this name, on all
// machines. It does not wait: if f is running elsewhere, or has run within the interval,
// Once returns a [*NotDueError]. So you can call it as often as you like.
//
// The interval begins when Redis grants the name, and is at most [MaxMinHold]. If f runs
// for longer than the interval, other callers do not run it before it has ended. Once is
// not a schedule. If you call it from a timer whose period is the interval, some calls
// come shortly before the interval is over and do nothing: use [Client.OnceEvery].
//
// The context of f ends when its lease is lost. A run that fails counts, unless f returns
// [Retryable]. A run whose process died counts, too: the next run can begin when the
// interval and the TTL have both passed.
//
// Redis can forget the name by FLUSHALL, eviction or a failover; f can then run twice
// within an interval.
//
// Once returns the error of f. It adds [ErrLost] if the lease ended before f did, and the
// error of storing the result in Redis. Before f begins, Once stores the [Run] in Redis;
// if that fails, f does not run. Other errors are those of [Mutex.TryLock].
func (c *Client) Once(ctx context.Context, name string, interval time.Duration, f func(ctx context.Context, lease *Lease) error) (err error) {
	if interval <= 0 || interval > MaxMinHold {
		panic(fmt.Sprintf("holdfast: the interval of Once is %v: it must be more than 0 and at most %v", interval, MaxMinHold))
	}
	lease, err := (&Mutex{client: c, name: name, MinHold: interval}).TryLock(ctx)
	if held, ok := errors.AsType[*HeldError](err); ok {
		return c.notDue(ctx, held)
	}
	if err != nil {
		return err
	}
	book := c.book(name, lease.turn.Name.Keys, once.TTLFor(interval))
	err = lease.noted(book.Begin(ctx, lease.Token(), c.engine.Owner))
	if err != nil { // f has not run, so there is no cool-down
		if said, refused := wire.AsServerError(err); !refused || wire.Transient(said) { // the record may say that it began
			lease.noteThatItDidNotRun(context.WithoutCancel(ctx), book)
		}
		if released := lease.release(true); errors.Is(released, ErrLost) {
			err = errors.Join(err, released)
		}
		return err
	}
	return lease.runOnce(ctx, f, func(outcome string, again bool) error {
		return lease.noted(book.End(context.WithoutCancel(ctx), lease.Token(), outcome))
	})
}

// runOnce runs f under a lease and releases the lease. Before the release, note stores
// how f ended. If again is set, the run does not count.
func (l *Lease) runOnce(ctx context.Context, f func(context.Context, *Lease) error, note func(outcome string, again bool) error) (err error) {
	outcome, again := "panicked", false
	defer func() {
		if lost := l.Err(); lost != nil {
			outcome = fmt.Sprintf("lost its lease (%v), then: %s", causeOf(lost), outcome)
		}
		err = joined(err, note(once.Clean(outcome), again))
		err = joined(err, l.release(again))
	}()
	if lost := l.Err(); lost != nil { // storing the begin took too long
		outcome, again = once.DidNotRun, true // so there is no cool-down
		return nil                            // the release returns the reason
	}
	err = f(l.Context(ctx), l)
	outcome, again = outcomeOf(err, causeOf(l.Err()) == Closed)
	return err
}

// noteThatItDidNotRun corrects the record after a Begin without an answer. That Begin
// may still run, so Begin is sent again first: then the late one writes nothing.
func (l *Lease) noteThatItDidNotRun(ctx context.Context, book *once.Book) {
	if book.Begin(ctx, l.Token(), l.client.engine.Owner) == nil {
		_ = book.End(ctx, l.Token(), once.DidNotRun)
	}
}

// outcomeOf returns the outcome for the record. If again is set, the run does not
// count. After Close each run counts, because Close has started the cool-down.
func outcomeOf(err error, closed bool) (outcome string, again bool) {
	_, again = errors.AsType[*runAgain](err)
	switch {
	case err == nil:
		return Done, false
	case again && !closed:
		return "failed, does not count: " + err.Error(), true
	}
	return "failed: " + err.Error(), false
}

func causeOf(err error) Cause {
	if lost, ok := errors.AsType[*LostError](err); ok {
		return lost.Cause
	}
	return "released"
}

// book returns the record of a name. Its calls retry for as long as Release waits, also
// after Close: a run that Close has ended is still recorded.
func (c *Client) book(name string, k *keyspace.Keys, ttl time.Duration) *once.Book {
	return &once.Book{
		Name: name, Keys: k, Caller: c.engine.RecordCalls, Patience: max(c.engine.PatienceToRelease(), time.Second), TTL: ttl,
	}
}

// noted returns the error of a run whose record could not be written. If the record belongs to
// a newer run, the lease is over.
func (l *Lease) noted(err error) error {
	if errors.Is(err, once.ErrScheduled) {
		return fmt.Errorf("%w: %s has a schedule, by OnceEvery", ErrSchedule, l.Name())
	}
	if errors.Is(err, once.ErrOther) {
		err = cmp.Or(l.Err(), err)
	}
	return notNoted(l.Name(), err)
}

func notNoted(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("holdfast: the record of %s could not be updated: %w", name, err)
}

// LastRun returns the newest run of [Client.Once] or [Client.OnceEvery] for a name. Package
// gocronlock puts a prefix before the name of a job: LastRun needs "job:report".
//
// Errors: [ErrNeverRan], [ErrName], [ErrUnreachable], [ErrClosed], a [driver.ServerError], or
// the error of ctx.
func (c *Client) LastRun(ctx context.Context, name string) (*Run, error) {
	k, err := c.openKeys(name)
	if err != nil {
		return nil, err
	}
	seen, err := c.book(name, k, 0).Inspect(ctx)
	if err != nil {
		return nil, err
	}
	if seen.Last == nil {
		return nil, fmt.Errorf("%w: %s", ErrNeverRan, name)
	}
	run := Run(seen.Last.Run)
	return &run, nil
}

// notDue returns the error for a name that is held or in cool-down, with its newest
// run. If Redis does not answer, the error has only what held says.
func (c *Client) notDue(ctx context.Context, held *HeldError) error {
	k, err := keyspace.KeysOf(c.Prefix(), held.Name)
	if err != nil {
		return err
	}
	e := &NotDueError{Name: held.Name, Running: !held.Cooldown, Owner: held.Owner, DueIn: held.Remaining}
	if seen, err := c.book(held.Name, k, 0).Inspect(ctx); err == nil {
		now := notDue(held.Name, seen)
		e.Last = now.Last
		if now.Owner != "" { // the holder may have changed meanwhile
			e = now
		}
	}
	return e
}

// notDue returns the error for the state of a name in Redis.
func notDue(name string, s once.State) *NotDueError {
	e := &NotDueError{Name: name, Running: s.Running, Owner: s.Owner, DueIn: s.DueIn}
	if s.Last != nil {
		run := Run(s.Last.Run)
		e.Last = &run
	}
	return e
}
