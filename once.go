package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var (
	// ErrNotDue means that [Client.Once] or [Client.OnceEvery] did not run its
	// function, because the interval or tick already has a run. A [*NotDueError]
	// describes that run.
	ErrNotDue = errors.New("holdfast: not due")
	// ErrNeverRan means that Redis remembers no run of the name.
	ErrNeverRan = errors.New("holdfast: no run on record")
)

// Run describes the newest run of [Client.Once] or [Client.OnceEvery] for a name. All
// times are from the clock of Redis. Redis stores the run for twice the interval or
// period, and for at least 25 hours.
type Run struct {
	Tick    time.Time // the tick of OnceEvery; after Retryable the tick before it; zero for Once
	Owner   string    // label of the Client that ran the function
	Token   int64     // fencing token of its lease
	Began   time.Time
	Ended   time.Time // zero if the run has not ended, or its process died
	Outcome string    // Done, or the text of the error; empty if the run has not ended

	every time.Duration // of its schedule; 0: of Once
}

var errRun = errors.New("unexpected answer")

// Done is the [Run.Outcome] of a run that returned nil and held its lease to the end.
const Done = "done"

// String returns one line for people.
func (r *Run) String() string {
	began := r.Began.UTC().Format(time.RFC3339)
	if !r.Tick.IsZero() {
		began = fmt.Sprintf("of the tick at %s began %s", r.Tick.UTC().Format(time.RFC3339), began)
	} else {
		began = "began " + began
	}
	if r.Ended.IsZero() {
		return fmt.Sprintf("%s on %s, has not ended", began, r.Owner)
	}
	return fmt.Sprintf("%s on %s, took %v: %s", began, r.Owner, r.Ended.Sub(r.Began).Round(time.Millisecond), r.Outcome)
}

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
// Retryable has no effect if [Client.Close] has ended the run: such a run counts.
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
	life := millis(max(2*interval, 25*time.Hour))
	err = c.noteRun(ctx, lease, script.OnceBegin, c.options.Owner, life)
	if err != nil { // f has not run, so nothing has to rest
		if said, refused := wire.AsServerError(err); !refused || wire.Transient(said) { // the record may say that it began
			c.noteThatItDidNotRun(context.WithoutCancel(ctx), lease, life)
		}
		lease.waive()
		if released := lease.Release(); errors.Is(released, ErrLost) {
			err = errors.Join(err, released)
		}
		return err
	}
	return lease.runOnce(ctx, f, func(outcome string, again bool) error {
		return c.noteRun(context.WithoutCancel(ctx), lease, script.OnceEnd, outcome, life)
	})
}

// runOnce runs f under a lease and gives that back. Before that note writes down how f ended;
// again: it does not count as a run.
func (l *Lease) runOnce(ctx context.Context, f func(context.Context, *Lease) error, note func(outcome string, again bool) error) (err error) {
	outcome, again := "panicked", false
	defer func() {
		if lost := l.Err(); lost != nil {
			outcome = fmt.Sprintf("lost its lease (%v), then: %s", causeOf(lost), outcome)
		}
		if noted := note(cleanOutcome(outcome), again); noted != nil {
			err = errors.Join(err, noted)
		}
		if again {
			l.waive()
		}
		if released := l.Release(); released != nil {
			err = errors.Join(err, released)
		}
	}()
	if lost := l.Err(); lost != nil { // writing that took too long
		outcome, again = didNotRun, true // so nothing has to rest
		return nil                       // the release says why
	}
	err = f(l.Context(ctx), l)
	outcome, again = outcomeOf(err, causeOf(l.Err()) == Closed)
	return err
}

const didNotRun = "did not run"

// noteThatItDidNotRun follows a beginning that nobody answered. That may run yet, so it is
// written once more first: behind it a late one writes nothing.
func (c *Client) noteThatItDidNotRun(ctx context.Context, lease *Lease, life string) {
	if c.noteRun(ctx, lease, script.OnceBegin, c.options.Owner, life) == nil {
		_ = c.noteRun(ctx, lease, script.OnceEnd, didNotRun, life)
	}
}

// outcomeOf is for the record; again: the run does not count. It does behind Close, which
// has made the name rest by then.
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

// cleanOutcome is one line of bounded length.
func cleanOutcome(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	const longest = 400
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}

// waive gives up what MinHold asks for.
func (l *Lease) waive() {
	c := l.turn.line.c
	c.mu.Lock()
	defer c.mu.Unlock()
	l.turn.waive()
}

// noteRun writes the record, in bounded time. A token above ours in it means
// that the lease is over.
func (c *Client) noteRun(ctx context.Context, lease *Lease, s *driver.Script, what, life string) error {
	reply, err := c.record(ctx, lease.Name(), driver.Call{Script: s, Keys: lease.turn.line.keys.WithOnce(), Args: []string{itoa(lease.Token()), what, life}})
	if err == nil && len(reply) > 0 && reply[0] == "scheduled" {
		return fmt.Errorf("%w: %s has a schedule, by OnceEvery", ErrSchedule, lease.Name())
	}
	if err == nil && (len(reply) == 0 || reply[0] != "noted") {
		err = errors.New("the record belongs to another run")
		if lost := lease.Err(); lost != nil {
			err = lost
		}
	}
	if err != nil {
		return fmt.Errorf("holdfast: the record of %s could not be updated: %w", lease.Name(), err)
	}
	return nil
}

// record runs a script about the record of runs, for as long as Release would wait. It also
// does so after Close, which has ended the run that is noted.
func (c *core) record(ctx context.Context, name string, call driver.Call) ([]string, error) {
	end := c.clock.Now().Add(max(c.patienceToRelease(), time.Second))
	reply, _, err := c.records.Until(ctx, end, name, call)
	return reply, err
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
	seen, err := c.lookOnce(ctx, name, k)
	if err != nil {
		return nil, err
	}
	if seen.Last == nil {
		return nil, fmt.Errorf("%w: %s", ErrNeverRan, name)
	}
	return seen.Last, nil
}

// notDue asks what is to be told of a name that is held or rests. If Redis does
// not say, what the refusal said has to do.
func (c *Client) notDue(ctx context.Context, held *HeldError) error {
	k, err := keysOf(c.options.Prefix, held.Name)
	if err != nil {
		return err
	}
	e := &NotDueError{Name: held.Name, Running: !held.Cooldown, Owner: held.Owner, DueIn: held.Remaining}
	if seen, err := c.lookOnce(ctx, held.Name, k); err == nil {
		e.Last = seen.Last
		if seen.Owner != "" { // it may have ended meanwhile: this is newer
			e.Running, e.Owner, e.DueIn = seen.Running, seen.Owner, seen.DueIn
		}
	}
	return e
}

// lookOnce fills a NotDueError with what stands in Redis.
func (c *core) lookOnce(ctx context.Context, name string, k *keyspace.Keys) (*NotDueError, error) {
	reply, err := c.record(ctx, name, driver.Call{Script: script.OnceInspect, Keys: k.WithOnce(), Args: nil})
	if err != nil {
		return nil, err
	}
	return onceState(name, reply)
}

// onceState reads what once_look says of L and O.
func onceState(name string, reply []string) (*NotDueError, error) {
	e := &NotDueError{Name: name}
	if len(reply) != 5 || reply[0] != "once" {
		return nil, fmt.Errorf("holdfast: %s: %w", name, errRun)
	}
	if ms, err := strconv.ParseInt(reply[3], 10, 64); err == nil && ms > 0 {
		e.DueIn = time.Duration(ms) * time.Millisecond
	}
	if id, ours := keyspace.ParseID(reply[2]); ours {
		e.Running, e.Owner = true, id.Owner
	} else {
		e.Owner, _ = keyspace.CooldownOwner(reply[2])
	}
	e.Last = parseRun(reply[4])
	return e, nil
}

// parseRun reads <token>.<began us>.<ended us>|<owner>|<outcome>, as
// once_begin and once_end write it, or with .<tick us>.<period us>.<phase us>.<run> before
// the first |, as once_lock does; nil if it is something else.
func parseRun(record string) *Run {
	head, rest, ok := strings.Cut(record, "|")
	owner, outcome, also := strings.Cut(rest, "|")
	part := strings.Split(head, ".")
	if !ok || !also || len(part) != 3 && len(part) != 7 {
		return nil
	}
	var figures [6]int64
	for i, text := range part[:min(len(part), len(figures))] { // the seventh is no number
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > wire.MaxToken {
			return nil
		}
		figures[i] = n
	}
	r := &Run{Owner: keyspace.CleanOwner(owner), Token: figures[0], Began: time.UnixMicro(figures[1])}
	if figures[2] > 0 {
		r.Ended, r.Outcome = time.UnixMicro(figures[2]), cleanOutcome(outcome)
	}
	if len(part) == 7 {
		r.Tick, r.every = time.UnixMicro(figures[3]), time.Duration(figures[4])*time.Microsecond
	}
	return r
}
