package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// revokes is F11: how soon a holder's context ends after somebody revoked its
// tenure or stole the name, and who waits has it. A Client listens once a call of
// it has waited; before, its holders learn by their next renewals.
func revokes(server *redistest.Server, scale Scale, talk io.Writer) ([]report.BulkRow, error) {
	times, ttl := 40, time.Second
	if scale == Full {
		times, ttl = 1000, holdfast.DefaultTTL
	}
	r := revoking{ctx: context.Background()}
	for _, c := range []**holdfast.Client{&r.holder, &r.waiter, &r.other} { // connections of their own, as in three processes
		store, err := rueidisstore.Open("redis://"+server.Addr(), nil)
		if err != nil {
			return nil, err
		}
		defer store.Close()
		*c = holdfast.New(store, &holdfast.Options{TTL: ttl})
		defer (*c).Close()
	}
	const deaf = 100
	var unheard, revoked, stolen revokeTimes
	fmt.Fprintf(talk, "bench: F11: %d revokes that are not heard, which takes up to %v\n", deaf, ttl/3)
	if err := inParallel(deaf, deaf, func(i int) error { return r.revoke(fmt.Sprintf("bench:deaf:%d", i), 0, &unheard) }); err != nil {
		return nil, err
	}
	if err := r.listen("bench:listen"); err != nil {
		return nil, err
	}
	for i := range times {
		if err := r.revoke(fmt.Sprintf("bench:revoke:%d", i), 1, &revoked); err != nil {
			return nil, err
		}
		if err := r.steal(fmt.Sprintf("bench:steal:%d", i), &stolen); err != nil {
			return nil, err
		}
	}
	var d, f, g report.BulkFigures
	d.Note("revokes", deaf, "")
	unheard.ended.note(&d, "from the call to the end of the holder's context")
	f.Note("revokes", float64(times), "")
	revoked.ended.note(&f, "from the call to the end of the holder's context")
	g.Note("steals", float64(times), "")
	stolen.ended.note(&g, "from the call to the end of the old holder's context")
	stolen.next.note(&g, "from the call to the waiter's lock")
	stolen.both.note(&g, "both leases believed at once")
	return []report.BulkRow{
		f.Row("F11", "holdfast, revoke"), g.Row("F11", "holdfast, steal"), d.Row("F11", "holdfast, revoke without a subscription"),
	}, nil
}

type revoking struct {
	ctx                   context.Context
	holder, waiter, other *holdfast.Client
}

// revokeTimes are from the call on.
type revokeTimes struct{ ended, next, both durations }

// durations are those of many calls.
type durations struct {
	mu sync.Mutex
	us []float64
}

func (d *durations) add(one time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.us = append(d.us, float64(one.Nanoseconds())/1e3)
}

func (d *durations) note(f *report.BulkFigures, what string) {
	slices.Sort(d.us)
	f.Note(what+", p99", d.us[len(d.us)*99/100], "µs")
}

const revokeReason = "benchmark"

// listen lets the holder wait for a name, after which it listens.
func (r *revoking) listen(name string) error {
	first, _, err := r.hold(r.waiter, name)
	if err != nil {
		return err
	}
	got, err := r.wait(r.holder, name)
	if err = errors.Join(err, first.Release()); err != nil {
		return err
	}
	second, err := within(got)
	if err = errors.Join(err, second.err); err != nil {
		return err
	}
	return second.lease.Release()
}

// waited is what somebody who waited got, and when.
type waited struct {
	lease *holdfast.Lease
	at    time.Time
	err   error
}

// wait has a client wait for what is held.
func (r *revoking) wait(client *holdfast.Client, name string) (<-chan waited, error) {
	got := make(chan waited, 1)
	go func() {
		lease, err := client.Mutex(name).Lock(r.ctx)
		got <- waited{lease, time.Now(), err}
	}()
	return got, untilSo("nobody waits for "+name, func() (bool, error) {
		state, err := admin.Of(r.other).Inspect(r.ctx, name)
		return err == nil && state.Waiting == 1, err
	})
}

func (r *revoking) revoke(name string, listeners int, times *revokeTimes) error {
	lease, hash, err := r.hold(r.holder, name)
	if err != nil {
		return err
	}
	ended := endOf(lease.Context(r.ctx))
	began := time.Now()
	heard, err := admin.Of(r.other).Revoke(r.ctx, name, hash, revokeReason)
	if err == nil && heard != listeners {
		err = fmt.Errorf("a revoke was heard by %d, want %d", heard, listeners)
	}
	if err != nil {
		return err
	}
	at, err := within(ended)
	times.ended.add(at.Sub(began))
	_ = lease.Release() // tells that it is lost
	return err
}

// steal has somebody wait, who gets the name.
func (r *revoking) steal(name string, times *revokeTimes) error {
	lease, hash, err := r.hold(r.holder, name)
	if err != nil {
		return err
	}
	ended := endOf(lease.Context(r.ctx))
	got, err := r.wait(r.waiter, name)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := admin.Of(r.other).Steal(r.ctx, name, hash, revokeReason); err != nil {
		return err
	}
	at, err := within(ended)
	if err != nil {
		return err
	}
	next, err := within(got)
	if err = errors.Join(err, next.err); err != nil {
		return err
	}
	times.ended.add(at.Sub(began))
	times.next.add(next.at.Sub(began))
	times.both.add(at.Sub(next.at))
	_ = lease.Release() // tells that it is lost
	return next.lease.Release()
}

// hold locks a name and finds the hash of the tenure.
func (r *revoking) hold(client *holdfast.Client, name string) (*holdfast.Lease, string, error) {
	lease, err := client.Mutex(name).Lock(r.ctx)
	if err != nil {
		return nil, "", err
	}
	state, err := admin.Of(r.other).Inspect(r.ctx, name)
	if err != nil {
		return nil, "", err
	}
	if state.Holder == nil {
		return nil, "", errors.New("nobody holds " + name)
	}
	return lease, state.Holder.Hash, nil
}

// endOf notes when a context ends.
func endOf(ctx context.Context) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		<-ctx.Done()
		ended <- time.Now()
	}()
	return ended
}

// within waits for what must come.
func within[T any](c <-chan T) (T, error) {
	select {
	case v := <-c:
		return v, nil
	case <-time.After(20 * time.Second):
		var none T
		return none, errors.New("waited 20 s in vain")
	}
}
