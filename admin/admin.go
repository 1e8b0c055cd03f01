// Package admin is the operator's view of locks: it shows the holders and waiters of
// each name, and ends holds. It works on a [driver.Store], keeps no goroutine, and needs no
// Close. Package diagnose explains what it shows.
package admin

import (
	"context"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var _ Reader = (*Admin)(nil)

// Admin inspects names on one master, also behind Sentinel, or in a Cluster, and ends
// holds there. It is safe for concurrent use.
type Admin struct {
	caller  *call.Caller
	options Options
	client  *holdfast.Client // that was given to Of; else nil
}

// New returns an Admin of the names in store. It panics if store is nil or the prefix
// is not valid.
func New(store driver.Store, options *Options) *Admin {
	if store == nil {
		panic("holdfast: admin.New needs a Store")
	}
	return &Admin{caller: newCaller(store), options: options.withDefaults()}
}

// Of returns an Admin of the names that client locks. It marks what client holds and
// waits for as Own. It works after [holdfast.Client.Close], too.
func Of(client *holdfast.Client) *Admin {
	return &Admin{newCaller(client.Store()), Options{client.Prefix(), timeoutFor(client.TTL())}, client}
}

// Store returns the store of the names.
func (a *Admin) Store() driver.Store { return a.caller.Store }

// Prefix returns what stands before every name and makes its key.
func (a *Admin) Prefix() string { return a.options.Prefix }

// own returns the hash of the Client that was given to Of.
func (a *Admin) own() string {
	if a.client == nil {
		return ""
	}
	return a.client.ID()
}

// Inspect returns the state of a name and changes nothing. Package diagnose explains it.
// Inspect blocks until Redis has answered, ctx has ended, or [Options.Timeout] has
// passed. It waits at most another 250 ms for the Details of holders and waiters.
//
// Errors: [holdfast.ErrName], [holdfast.ErrUnreachable], a [driver.ServerError], or the
// error of ctx.
func (a *Admin) Inspect(ctx context.Context, name string) (*State, error) {
	k, err := keysOf(a.options.Prefix, name)
	if err != nil {
		return nil, err
	}
	i := newInspection(name, a.own(), k, shardOf(a.caller.Store, k), listed)
	for !i.done {
		reply, err := a.caller.Run(ctx, a.options.Timeout, i.call)
		i.answered(reply, err)
	}
	if i.err != nil {
		return nil, i.err
	}
	addDetails(ctx, a.caller, i.state)
	return i.state, nil
}

// Names yields, in no order, the names that begin with prefix and
//   - are held by holdfast or in cool-down,
//   - have waiters,
//   - or were locked in the last day, though they are free now.
//
// If prefix is not empty, it also yields names that only a foreign client holds. With
// [holdfast.NoPrefix] and an empty prefix, a held name without a fence key is missing: every
// key of the server could be one.
//
// Names scans the whole keyspace once. It reads the value of a lock key only if no other key
// of the name exists. It ends after an error: [holdfast.ErrUnreachable], a
// [driver.ServerError], or the error of ctx.
func (a *Admin) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range (listing{a.caller, &a.options, prefix}).names(ctx) {
			if err != nil {
				err = wire.Unanswered("list of names", "", err)
			}
			if !yield(name, err) {
				return
			}
		}
	}
}

// Survey inspects all names that [Admin.Names] yields. It changes nothing. Package diagnose
// finds the problems in it.
//
// Survey lists the first 100 waiters of each name. It keeps all results in memory. If
// there are more than limit names, it inspects none and returns [ErrTooMany]; 0: no limit.
//
// A name that cannot be inspected has an error in [Surveyed.Err]. Survey itself returns
// the error of Names or of ctx, or [holdfast.ErrUnreachable] if no name could be
// inspected.
func (a *Admin) Survey(ctx context.Context, prefix string, limit int) (*Survey, error) {
	return survey(ctx, a, prefix, limit, a.surveyNames)
}

// Around inspects a name like Inspect, and the names around it: those in the Within of the
// details of its holders and waiters, and so on, at most 32 names. The first name of the
// result is the given one. Package diagnose finds nested commands in it that wait for each
// other. Without nested commands Around costs as much as Inspect.
func (a *Admin) Around(ctx context.Context, name string) (*Survey, error) {
	state, err := a.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &Survey{Names: []Surveyed{{State: state}}}
	for from := 0; from < len(s.Names); {
		next := around(s.Names, from)
		a.surveyNames(ctx, next)
		from = len(s.Names)
		s.Names = append(s.Names, next...)
	}
	return s, nil
}

// surveyNames inspects names in pipelines.
func (a *Admin) surveyNames(ctx context.Context, names []Surveyed) {
	all := make([]*inspection, 0, len(names))
	at := make([]int, 0, len(names))
	for i := range names {
		k, err := keysOf(a.options.Prefix, names[i].Name)
		if err != nil { // Names yields none of those
			names[i].Err = err
			continue
		}
		all, at = append(all, newInspection(names[i].Name, a.own(), k, shardOf(a.caller.Store, k), surveyListed)), append(at, i)
	}
	for open := all; len(open) > 0; open = slices.DeleteFunc(slices.Clone(open), func(i *inspection) bool { return i.done }) {
		calls := make([]driver.Call, len(open))
		for i, one := range open {
			calls[i] = one.call
		}
		for i, r := range a.caller.Many(ctx, a.options.Timeout, calls) {
			open[i].answered(r.Reply, r.Err)
		}
	}
	var read []*State
	for i, one := range all {
		if one.err != nil {
			names[at[i]].Err = one.err
			continue
		}
		names[at[i]].State = one.state
		read = append(read, one.state)
	}
	addDetails(ctx, a.caller, read...)
}

// Revoke asks the holder of a name to stop. The lease of the holder ends with
// [holdfast.ErrLost], cause [holdfast.Revoked]. The name stays held until the holder's
// Release, or for one ttl, so the holder has time to stop. A lease with
// [holdfast.Mutex.NoRenew] keeps its own end, if that is sooner. If the holder's process
// cannot be reached, the name stays held until the lease expires. Steal does not wait
// for that.
//
// The tenure is the hash of the holder that you mean, from [Holder.Hash]. If it does not
// hold the name any more, Revoke returns [holdfast.ErrTenure] and changes nothing. For a
// Semaphore or an RWMutex, Revoke ends this one lease only. The holder can read the first
// 200 bytes of reason.
//
// The result notified is the number of subscriptions that received the revocation at
// once. It is 0 if the holder does not listen, if the server refuses to publish (package
// doctor finds that), and on a Cluster. The holder then notices the revocation at its next
// renewal, within about a third of its ttl. With NoRenew it notices it at the next Extend,
// CheckHeld or EnsureHeld. A lease of the Client that was
// given to [Of] is over when Revoke returns.
//
// Errors: [holdfast.ErrName], [holdfast.ErrTenure], a [driver.ServerError], and an error
// for a bad tenure or reason. After [holdfast.ErrUnreachable] or the error of ctx, Redis
// may execute the revocation up to two seconds later: call Revoke again.
func (a *Admin) Revoke(ctx context.Context, name, tenure, reason string) (notified int, err error) {
	r, err := newRevocation(ctx, a.caller, &a.options, a.own(), name, tenure, reason)
	if err != nil {
		return 0, err
	}
	c := driver.Call{Script: script.Revoke, Keys: []string{r.k.Lock(), r.k.Revocation()}, Args: r.args()}
	if r.shared {
		c.Script, c.Keys = script.SharedRevoke, []string{r.k.Lock(), r.k.Holders(), r.k.RevocationOf(r.id)}
	}
	if notified, err = r.run(ctx, c); err == nil {
		a.confirm(ctx, name)
	}
	return notified, err
}

// Steal takes a name from its holder at once and gives it to the first waiter.
// [holdfast.Mutex.Steal] gives it to the caller. For a Semaphore or an RWMutex, it ends
// one lease.
//
// TWO PROCESSES CAN BELIEVE THAT THEY HOLD THE NAME until the old holder notices the loss.
// The old lease ends with [holdfast.ErrLost], cause [holdfast.Stolen]. It usually ends at
// once, otherwise at its next renewal, or at its deadline if Redis is unreachable. Use
// Steal only if the holder is dead, or if the resource checks tokens. Otherwise use
// Revoke.
//
// Arguments and errors are those of Revoke. If several tenures of a name are stolen
// within one ttl, only the newest is certain to read the reason. The others may see
// cause Taken or Gone.
func (a *Admin) Steal(ctx context.Context, name, tenure, reason string) error {
	r, err := newRevocation(ctx, a.caller, &a.options, a.own(), name, tenure, reason)
	if err != nil {
		return err
	}
	c := driver.Call{Script: script.Steal, Keys: r.k.WithRevocation(), Args: r.args()}
	if r.shared {
		c.Script, c.Keys = script.SharedSteal, append(r.k.WithHolders(), r.k.RevocationOf(r.id))
	}
	if _, err = r.run(ctx, c); err == nil {
		a.confirm(ctx, name)
	}
	return err
}

// confirm lets the Client that was given to Of notice the end of its leases at once.
func (a *Admin) confirm(ctx context.Context, name string) {
	if a.client != nil {
		_ = a.client.Confirm(ctx, name) // otherwise it notices at its next renewal
	}
}
