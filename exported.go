package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ExportedHold is the state of a hold that [Lease.Export] gave away and no process has
// adopted. The owner of the text renews it with [Client.RenewExported] and ends it with
// [Client.ReleaseExported], for example from a shell script.
type ExportedHold struct {
	Name      string
	Owner     string        // label of the exporter
	Hash      string        // identifies the tenure, like Hash of admin.Holder
	Token     int64         // of the exported lease
	TTL       time.Duration // effect of each renewal
	Remaining time.Duration // until the holder must stop, from the return of the call; more than 0
	Waiting   int           // number of waiters
}

// RenewExported prolongs a hold that [Lease.Export] gave away, by the ttl of the
// exporter. The hold can still be adopted. No process renews it by itself. So call
// RenewExported every third of the ttl. Stop the work when [ExportedHold.Remaining] has
// passed without a successful call.
//
// [ErrLost] means that the hold is over:
//
//   - [Taken]: another holder has the name or has adopted the hold.
//   - [Gone]: it expired or was released, or the key was deleted.
//   - [Expired]: the remaining time is too short; the holder must have stopped.
//   - [Revoked] or [Stolen]: package admin ended it, or [Mutex.Steal]. A revoked hold
//     is not prolonged; its name is free after one ttl or [Client.ReleaseExported].
//
// After [ErrUnreachable] or the error of ctx, it is unknown whether the hold was
// prolonged. Other errors: [ErrExport], [ErrReplicas], [ErrTooSlow], [ErrClosed], or a
// [driver.ServerError].
func (c *Client) RenewExported(ctx context.Context, text string) (*ExportedHold, error) {
	x, hold, err := c.lookExported(ctx, text, "RenewExported", "renew")
	if err != nil || c.options.WaitReplicas == 0 {
		return hold, err
	}
	return c.confirmExported(ctx, x, hold)
}

// CheckExported reports the state of a hold that [Lease.Export] gave away, and changes
// nothing. Its errors are those of [Client.RenewExported] except [ErrReplicas].
func (c *Client) CheckExported(ctx context.Context, text string) (*ExportedHold, error) {
	_, hold, err := c.lookExported(ctx, text, "CheckExported")
	return hold, err
}

// ReleaseExported ends a hold that [Lease.Export] gave away and hands the name over to
// the next waiter. It blocks until Redis has answered or ctx has ended.
//
// It returns nil if the hold was held and is over now. After a broken connection the
// client asks again, so a parallel call may have ended it. A hold that had ended before
// is [ErrLost] with its cause; so is the result of a second call. A revoked hold is
// released, and the error is ErrLost with cause [Revoked].
//
// After [ErrUnreachable] or the error of ctx, it is unknown whether the hold was
// released: call it again. Other errors are those of [Client.RenewExported].
func (c *Client) ReleaseExported(ctx context.Context, text string) error {
	x, _, err := c.lookExported(ctx, text, "ReleaseExported")
	var lost *LostError
	standing := errors.As(err, &lost) && (lost.Cause == Revoked || lost.Cause == Expired)
	if err != nil && !standing {
		return err
	}
	k, nameErr := keysOf(x.prefix, x.name)
	if nameErr != nil {
		return nameErr
	}
	args := []string{x.id}
	if suffix := c.shardOf(k); suffix != "" {
		args = append(args, suffix)
	}
	until := c.clock.Now().Add(c.options.patience())
	for {
		reply, _, unlockErr := c.calls.Until(ctx, until, x.name, driver.Call{Script: script.Unlock, Keys: k[:], Args: args})
		if unlockErr != nil {
			return unlockErr
		}
		a, unlockErr := wire.DecodeAnswer(reply)
		switch {
		case unlockErr != nil:
			return wire.Failure(x.name, nil, unlockErr)
		case a.Word == "not held" && err == nil: // it stood a moment ago
			return c.overtaken(ctx, x, k)
		case a.Word == "released" || a.Word == "not held":
			if x.leads { // those who observe look in time if this is not heard
				_, _ = c.calls.Run(ctx, c.options.attempt(), announcement(k, x.id, x.token, c.store.Sharded(), 0, ""))
			}
			return err
		case a.Word != "again":
			return wire.Failure(x.name, nil, fmt.Errorf("unlock was answered %q", a.Word))
		}
	}
}

// overtaken tells of an exported hold whose L is another's by now whether that was brought
// about by who adopted or stole it. Else an unlock has run twice, and was the first to end it.
func (c *core) overtaken(ctx context.Context, x exported, k *keyspace.Keys) error {
	reply, sent, err := c.calls.Until(ctx, c.clock.Now().Add(c.options.patience()), x.name, exportedCall(x, k))
	if err != nil {
		return err
	}
	if a, err := wire.DecodeAnswer(reply); err == nil && a.Word != "adopted" && a.Word != "stolen" {
		return nil
	}
	_, err = c.standing(x, reply, sent)
	return err
}

func exportedCall(x exported, k *keyspace.Keys, word ...string) driver.Call {
	return driver.Call{Script: script.Exported, Keys: k.WithRevocation(), Args: append([]string{x.id, itoa(x.last)}, word...)}
}

// lookExported runs the script, with word to prolong.
func (c *core) lookExported(ctx context.Context, text, what string, word ...string) (exported, *ExportedHold, error) {
	x, k, err := c.readExport(text, what)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return x, nil, err
	}
	if c.isClosed() {
		return x, nil, ErrClosed
	}
	reply, sent, err := c.calls.Until(ctx, c.clock.Now().Add(c.options.patience()), x.name, exportedCall(x, k, word...))
	if err != nil {
		return x, nil, err
	}
	hold, err := c.standing(x, reply, sent)
	return x, hold, err
}

// standing reads the script's answer. What it proves begins when it was sent.
func (c *core) standing(x exported, reply []string, sent clock.Instant) (*ExportedHold, error) {
	a, err := wire.DecodeAnswer(reply)
	if err != nil {
		return nil, wire.Failure(x.name, nil, err)
	}
	lost := &LostError{Name: x.name, Token: x.token, Cause: Gone, Reason: a.Reason}
	switch a.Word {
	case "stands":
	case "revoked":
		lost.Cause = Revoked
		return nil, lost
	case "stolen":
		lost.Cause = Stolen
		return nil, lost
	case "lost", "adopted":
		if a.Holder != "" {
			lost.Cause = Taken
		}
		return nil, lost
	default:
		return nil, wire.Failure(x.name, nil, fmt.Errorf("exported was answered %q", a.Word))
	}
	id, _ := keyspace.ParseID(x.id)
	life := a.PTTL
	if life < 0 { // somebody took the expiry away
		life = id.TTL
	}
	now := c.clock.Exact()
	hold := &ExportedHold{
		Name: x.name, Owner: id.Owner, Hash: keyspace.HashID(x.id), Token: x.token,
		TTL: id.TTL, Remaining: clock.Deadline(sent, life).Sub(now), Waiting: int(a.Waiting),
	}
	switch {
	case hold.Remaining > 0:
	case now.Sub(sent) < life/2: // that little was left
		lost.Cause = Expired
		return nil, lost
	default:
		return nil, &TooSlowError{Name: x.name, TTL: id.TTL, RoundTrip: now.Sub(sent)}
	}
	return hold, nil
}

// confirmExported renews once more, with WAIT behind it on the same connection.
func (c *core) confirmExported(ctx context.Context, x exported, hold *ExportedHold) (*ExportedHold, error) {
	k, err := keysOf(x.prefix, x.name)
	if err != nil {
		return nil, err
	}
	wait := call.WaitFor(hold.Remaining)
	call := exportedCall(x, k, "renew")
	callers := ctx
	ctx, cancel := context.WithTimeout(ctx, wait+c.options.attempt())
	defer cancel()
	type outcome struct {
		result driver.Result
		acked  int
	}
	done := make(chan outcome, 1)
	sent := c.clock.Exact()
	go func() {
		results, acked, err := c.store.EvalWait(ctx, []driver.Call{call}, c.options.WaitReplicas, wait)
		done <- outcome{driver.Result{Reply: results[0].Reply, Err: cmp.Or(results[0].Err, err)}, acked}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		o.result.Err = ctx.Err()
	}
	switch {
	case callers.Err() != nil:
		return nil, callers.Err()
	case o.result.Err != nil:
		return nil, wire.Unanswered(x.name, call.Keys[0], wire.WithoutContext(o.result.Err))
	case o.acked < c.options.WaitReplicas:
		return nil, &ReplicasError{Name: x.name, Want: c.options.WaitReplicas, Got: o.acked, Connected: -1}
	}
	return c.standing(x, o.result.Reply, sent)
}
