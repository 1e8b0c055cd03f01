package once

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// DidNotRun is the outcome of a run that was recorded and did not begin.
const DidNotRun = "did not run"

var (
	// ErrScheduled means that the record belongs to a schedule.
	ErrScheduled = errors.New("the name has a schedule")
	// ErrOther means that the record belongs to another run by now.
	ErrOther = errors.New("the record belongs to another run")
)

// Book reads and writes the record of one name. It retries each call for Patience.
type Book struct {
	Name     string
	Keys     *keyspace.Keys
	Caller   *call.Caller
	Patience time.Duration
	TTL      time.Duration // of the record
}

// TTLFor returns how long Redis remembers a run of Once of this interval.
func TTLFor(interval time.Duration) time.Duration { return max(2*interval, protocol.OnceTTL) }

// ScheduleTTL returns how long Redis remembers a run of a schedule of this period, and so its
// phase.
func ScheduleTTL(period time.Duration) time.Duration { return max(2*period, protocol.RecordTTL) }

func (b *Book) run(ctx context.Context, s *driver.Script, args ...string) ([]string, error) {
	end := b.Caller.Clock.Now().Add(b.Patience)
	reply, _, err := b.Caller.Until(ctx, end, b.Name, driver.Call{Script: s, Keys: b.Keys.WithOnce(), Args: args})
	return reply, err
}

// Inspect returns the state of the name and the newest run.
func (b *Book) Inspect(ctx context.Context) (State, error) {
	reply, err := b.run(ctx, script.OnceInspect)
	if err != nil {
		return State{}, err
	}
	s, err := decodeState(reply)
	return s, b.about(err)
}

// Nearest returns the nearest tick of a schedule of this period and phase. "" is the phase that
// Redis remembers.
func (b *Book) Nearest(ctx context.Context, period time.Duration, phase string) (Tick, error) {
	reply, err := b.run(ctx, script.OnceInspect, strconv.FormatInt(period.Microseconds(), 10), phase)
	if err != nil {
		return Tick{}, err
	}
	t, err := decodeTick(reply, period)
	return t, b.about(err)
}

func (b *Book) about(err error) error {
	if err != nil {
		return fmt.Errorf("holdfast: %s: %w", b.Name, err)
	}
	return nil
}

// Begin notes that the holder of a token begins to run.
func (b *Book) Begin(ctx context.Context, token int64, owner string) error {
	return b.note(ctx, script.OnceBegin, token, owner)
}

// End notes how a run ended. A run of a schedule has more arguments: its mark, and how far its
// tick is given back.
func (b *Book) End(ctx context.Context, token int64, outcome string, run ...string) error {
	return b.note(ctx, script.OnceEnd, token, outcome, run...)
}

func (b *Book) note(ctx context.Context, s *driver.Script, token int64, what string, run ...string) error {
	reply, err := b.run(ctx, s, append([]string{strconv.FormatInt(token, 10), what, wire.Millis(b.TTL)}, run...)...)
	switch {
	case err != nil:
		return err
	case len(reply) > 0 && reply[0] == "scheduled":
		return ErrScheduled
	case len(reply) == 0 || reply[0] != "noted":
		return ErrOther
	}
	return nil
}
