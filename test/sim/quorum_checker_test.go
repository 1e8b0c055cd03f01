package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
)

// lock waits for a name, and checks S1 and S2 at the moment when it has it.
func (p *party) lock(ctx context.Context, name string) (*belief, error) {
	return p.lockBy(ctx, name, p.client.Mutex(name).Lock)
}

func (p *party) lockBy(ctx context.Context, name string, take func(context.Context) (*holdfast.Lease, error)) (*belief, error) {
	lease, err := take(ctx)
	if err != nil {
		return nil, err
	}
	b := &belief{lease, p.number}
	r := p.r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log("p%d has %s, token %d", p.number, name, lease.Token())
	r.wins++
	for _, other := range r.leases[name] {
		if other.lease.Err() == nil && lease.Err() == nil && !r.leaping() {
			r.violation("S1: p%d and p%d both hold %s", other.party, p.number, name)
		}
	}
	if newest := r.tokens[name]; lease.Token() == newest || lease.Token() < newest && !r.leaping() {
		r.violation("S2: p%d was given token %d of %s after %d", p.number, lease.Token(), name, newest)
	}
	r.tokens[name] = max(r.tokens[name], lease.Token())
	r.leases[name] = append(r.leases[name], b)
	return b, nil
}

// leaping tells that a tenure may have been counted on a node before its clock jumped
// forward. One of a bare majority may overlap with the next then, and go on with tokens below
// those of the next: S1's exception, see docs/quorum.md. No view lasts longer than a ttl
// without a majority of later answers.
func (r *republic) leaping() bool {
	return !r.leapt.IsZero() && time.Since(r.leapt) <= r.ttl
}

// release forgets the lease before it is given back.
func (p *party) release(b *belief) error {
	r := p.r
	r.mu.Lock()
	r.log("p%d gives %s back: %v", p.number, b.lease.Name(), b.lease.Err())
	all := r.leases[b.lease.Name()]
	for i, other := range all {
		if other == b {
			r.leases[b.lease.Name()] = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	r.mu.Unlock()
	return b.lease.Release()
}

// fault is violation for whoever does not hold the mutex.
func (r *republic) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violation(format, args...)
}

// violation is noted with the mutex held.
func (r *republic) violation(format string, args ...any) {
	text := fmt.Sprintf("%v: ", time.Since(r.began)) + fmt.Sprintf(format, args...)
	r.log("VIOLATION %s", text)
	r.broken = append(r.broken, text)
}
