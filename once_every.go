package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/once"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ScheduleError has the schedule of a name.
type ScheduleError struct {
	Name  string
	Every time.Duration
	At    time.Time // one of the ticks

	key string
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("holdfast: %s has another schedule: every %v, with a tick at %s; all programs must use the same: choose another name, or stop the old programs and delete the key %s",
		e.Name, e.Every, e.At.UTC().Format(time.RFC3339Nano), e.key)
}

// Unwrap returns [ErrSchedule].
func (e *ScheduleError) Unwrap() error { return ErrSchedule }

// OnceEvery runs f once for each tick of a schedule among all callers with this name,
// on all machines. The parameter "at" is the time of one tick. The others are whole
// periods before and after it. If "at" is zero, the time of the first call becomes a tick.
// Call OnceEvery on each machine at about each tick, for example from cron.
//
// Redis finds the tick of a call: the one that is nearest by its own clock. So a call may
// come up to half a period early or late. If "at" is zero, the first call can be early
// or late itself. Later calls may then be at most a quarter of a period early or late.
// The first call for a tick runs f. Other calls do not wait and return a [*NotDueError].
//
//   - If a run takes longer than the period, calls at the ticks in between are not due.
//   - A tick without a call has no run, also later.
//   - A run that fails or is killed has used its tick, unless f returns [Retryable]. After
//     a killed run the name stays held for the TTL, so choose a period that is longer.
//   - If f could not be started, for example because ctx ended, OnceEvery gives the tick
//     back, and the next call can run it. If Redis does not confirm that, the tick
//     may stay used without a run.
//
// If a process calls much more often than the period, for example because cron starts the
// job every 2 s and the period is 10 s, [Options.Logger] gets one warning.
//
// A name has one schedule. A call with another period or another "at" returns a
// [*ScheduleError] and runs nothing. If "at" is zero, the call uses the ticks that Redis
// stores. Redis stores the schedule for two periods after the newest run, and for at
// least 25 hours.
//
// Redis can forget the name by FLUSHALL, eviction or a failover; f can then run twice
// for a tick. If the clock of Redis steps back, used ticks do not begin again.
//
// The period must be whole milliseconds and at most [MaxMinHold]; otherwise OnceEvery
// panics. The context of f ends when its lease is lost. Errors are those of
// [Client.Once].
func (c *Client) OnceEvery(ctx context.Context, name string, period time.Duration, at time.Time, f func(ctx context.Context, lease *Lease) error) error {
	if period <= 0 || period > MaxMinHold || period%time.Millisecond != 0 {
		panic(fmt.Sprintf("holdfast: the period of OnceEvery is %v: it must be whole milliseconds, more than 0 and at most %v", period, MaxMinHold))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	k, err := c.openKeys(name)
	if err != nil {
		return err
	}
	s := &onceEveryCall{c: c, name: name, keys: k, book: c.book(name, k, once.ScheduleTTL(period)), period: period, given: once.Phase(at, period)}
	lease, err := s.begin(ctx)
	s.called(err)
	if err != nil {
		return err
	}
	return lease.runOnce(ctx, f, func(outcome string, again bool) error {
		if again {
			c.pace.Again(name, c.engine.Calls.Clock.Now())
		}
		return s.note(context.WithoutCancel(ctx), lease.Token(), outcome, again)
	})
}

// onceEveryCall is one call of OnceEvery.
type onceEveryCall struct {
	c      *Client
	name   string
	keys   *keyspace.Keys
	book   *once.Book
	period time.Duration
	given  string // phase that the caller gave, in microseconds; empty: the stored one, or one from now on
	phase  string // phase of tick, in microseconds
	tick   string // time of the tick to run, in microseconds
	run    string // random: identifies its record
}

// called warns, once for each name, if this process calls much more often than the period. Most
// of these calls do nothing, and none of them returns an error that says why.
func (s *onceEveryCall) called(err error) {
	if err != nil && !errors.Is(err, ErrNotDue) {
		return // a caller may repeat it
	}
	if s.c.pace.Called(s.name, s.period, s.c.engine.Calls.Clock.Now()) {
		s.c.engine.Logger.Warn("holdfast: OnceEvery is called much more often than its period, so most calls do nothing: give it the period of the timer that calls it", "name", s.name, "period", s.period)
	}
}

// begin begins the nearest tick, or returns the reason why it cannot. If another call
// was quicker, it looks for the nearest tick again, 3 times at most.
func (s *onceEveryCall) begin(ctx context.Context) (*Lease, error) {
	for tries := 1; ; tries++ {
		if err := s.findTick(ctx); err != nil {
			return nil, err
		}
		lease, err := s.lock(ctx)
		quicker := errors.Is(err, machine.ErrNoLongerDue) || errors.Is(err, ErrHeld)
		if held, ok := errors.AsType[*HeldError](err); ok && tries == 3 {
			return nil, &NotDueError{Name: s.name, Running: !held.Cooldown, Owner: held.Owner, DueIn: held.Remaining}
		}
		if quicker && tries == 3 {
			return nil, &NotDueError{Name: s.name}
		}
		if !quicker {
			return lease, s.returnTick(ctx, err)
		}
	}
}

// findTick asks Redis for the nearest tick. It returns an error if that tick cannot
// begin.
func (s *onceEveryCall) findTick(ctx context.Context) error {
	t, err := s.book.Nearest(ctx, s.period, s.given)
	if err != nil {
		return err
	}
	switch last := t.Last; {
	case t.Another:
		return &ScheduleError{Name: s.name, Every: last.Every, At: last.Tick, key: s.keys.WithOnce()[1]}
	case t.Begun || t.Held: // held: the run goes on, or another client has the name
		e := notDue(s.name, t.State)
		e.TickBegun = t.Newest
		return e
	case last != nil && last.Ended.IsZero():
		s.c.engine.Logger.Warn("holdfast: the newest run has not ended, but its name is free: its process was killed, or it lost its lease", "name", s.name, "owner", last.Owner, "began", last.Began, "tick", last.Tick)
	}
	s.tick, s.phase = t.Tick, t.Phase
	return nil
}

// lock locks the name for the tick.
func (s *onceEveryCall) lock(ctx context.Context) (*Lease, error) {
	e := s.c.engine
	s.run = strconv.FormatUint(e.Random(), 36)
	m := s.c.Mutex(s.name)
	k := m.ownKind()
	k.First = &machine.FirstLock{Script: script.OnceLock, Args: []string{
		e.ShardOf(s.keys), wire.Itoa(s.period.Microseconds()), s.phase, s.tick, s.run, k.Owner, wire.Millis(s.book.TTL),
	}}
	return m.lock(ctx, k, true)
}

// returnTick gives the tick back if a failed lock may have begun it.
func (s *onceEveryCall) returnTick(ctx context.Context, err error) error {
	if said, refused := wire.AsServerError(err); err != nil && (!refused || wire.Transient(said)) && !errors.Is(err, ErrClosed) {
		_ = s.note(context.WithoutCancel(ctx), 0, once.DidNotRun, true)
	}
	return err
}

// note stores how the run ended. If again is set, it gives the tick back.
func (s *onceEveryCall) note(ctx context.Context, token int64, outcome string, again bool) error {
	back := "0"
	if again {
		back = wire.Itoa(s.period.Microseconds())
	}
	return notNoted(s.name, s.book.End(ctx, token, outcome, s.run, back))
}
