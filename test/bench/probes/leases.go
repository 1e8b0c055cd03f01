package probes

import (
	"fmt"
	"log"
	"runtime"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// leases holds very many names, which must cost little while nothing happens but their
// renewal.
func leases(p *probe) {
	ttl := p.duration(holdfast.DefaultTTL, 3*time.Second)
	client := holdfast.New(p.store(), &holdfast.Options{TTL: ttl})
	p.hold(p.size(100_000, 2000), 64, p.duration(time.Minute, ttl/2), func(i int) *holdfast.Lease {
		return p.lock(client, fmt.Sprintf("lease:%06d", i))
	})
}

// readers are callers that read one name at once, each with a lease of its own.
func readers(p *probe) {
	ttl := holdfast.DefaultTTL
	client := holdfast.New(p.store(), &holdfast.Options{TTL: ttl})
	const n = 1000
	p.hold(n, n, p.duration(ttl, ttl/10), func(int) *holdfast.Lease { return must(client.RWMutex("read").RLock(p.ctx)) })
}

// hold locks n times, so many at once, and holds all of it for a time. No lease may be lost.
func (p *probe) hold(n, atOnce int, hold time.Duration, lock func(i int) *holdfast.Lease) {
	check(lock(0).Release()) // connects
	before, goroutines, all := heap(), runtime.NumGoroutine(), make([]*holdfast.Lease, n)
	began := time.Now()
	inParallel(n, atOnce, func(i int) { all[i] = lock(i) })
	p.figures["time to lock all, ms"] = millis(time.Since(began))
	p.figures["heap per lease, B"] = (heap() - before) / float64(n)

	from, cpu := p.counters(), host.UsedCPU()
	began = time.Now()
	time.Sleep(hold)
	to := p.counters()
	p.figures["processor time of the process, cores"] = (host.UsedCPU() - cpu).Seconds() / time.Since(began).Seconds()
	p.figures["processor time of Redis, cores"] = to.Cores(from)
	p.figures["a renewal in Redis, µs"] = to.PerScript(from)
	lost := slices.DeleteFunc(slices.Clone(all), func(l *holdfast.Lease) bool { return l.Err() == nil })
	if len(lost) > 0 {
		log.Fatalf("%d of %d leases are lost, the first by: %v", len(lost), n, lost[0].Err())
	}
	p.figures["goroutines for all"] = float64(runtime.NumGoroutine() - goroutines)
}

// holders is what one more acquisition and release of a semaphore costs while so many hold it.
// None of them is renewed meanwhile.
func holders(p *probe) {
	client := holdfast.New(p.store(), &holdfast.Options{TTL: time.Hour})
	semaphore := client.Semaphore("holders", 10_000)
	acquire := func() *holdfast.Lease { return must(semaphore.Acquire(p.ctx, 1)) }
	held := 0
	for _, n := range []int{1, 100, p.size(1000, 200), p.size(5000, 500)} {
		inParallel(n-held, 8, func(int) { acquire() }) // a script takes milliseconds at the end
		held = n
		p.figures[fmt.Sprintf("acquire and release with %d holders, in Redis, µs", n)] = p.cost(2, func() { check(acquire().Release()) })
	}
}

// revocations is how soon a holder's context ends after a revoke of its lease or a steal of its
// name, and how soon the next waiter has it. Holder, waiter and thief are as three processes.
func revocations(p *probe) {
	holder, waiter := p.client("holder"), p.client("waiter")
	order := admin.Of(p.client("other"))
	// The holder's Client listens once a call of it has waited.
	first := p.lock(waiter, "listens")
	got := p.wait(holder, "listens", 1)
	check(first.Release())
	check((<-got).lease.Release())

	var revoked, stolen, next, both []float64
	for i := range p.size(1000, 40) {
		for _, steal := range []bool{false, true} {
			name := fmt.Sprintf("revoked:%t:%d", steal, i)
			lease := p.lock(holder, name)
			hash := must(order.Inspect(p.ctx, name)).Holder.Hash
			ended := make(chan time.Time, 1)
			go func() {
				<-lease.Context(p.ctx).Done()
				ended <- time.Now()
			}()
			if !steal {
				began := time.Now()
				must(order.Revoke(p.ctx, name, hash, "benchmark"))
				revoked = append(revoked, millis((<-ended).Sub(began)))
			} else {
				got := p.wait(waiter, name, 1)
				began := time.Now()
				check(order.Steal(p.ctx, name, hash, "benchmark"))
				at, other := <-ended, <-got
				stolen, next = append(stolen, millis(at.Sub(began))), append(next, millis(other.at.Sub(began)))
				both = append(both, millis(at.Sub(other.at)))
				check(other.lease.Release())
			}
			_ = lease.Release() // its error says that the lease is lost
		}
	}
	p.quantiles("from a revoke to the end of the holder's context", revoked)
	p.quantiles("from a steal to the end of the holder's context", stolen)
	p.quantiles("from a steal to the waiter's lock", next)
	p.quantiles("both leases believed at once after a steal", both)
}
