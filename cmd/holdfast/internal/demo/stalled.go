package demo

import "context"

// stalledBuyer replaces a frozen process where processes cannot be frozen. Nothing that
// its Client sends arrives, so its lock ends as that of a frozen process does.
type stalledBuyer struct{ *buyer }

func newStalledBuyer(ctx context.Context, s *sale, number int) (sleeper, error) {
	b, err := newBuyer(ctx, s, number)
	if err != nil {
		return nil, err
	}
	return stalledBuyer{b}, nil
}

func (b stalledBuyer) freeze() error {
	b.lock.counter.stalled.Store(true)
	return nil
}

func (b stalledBuyer) thaw() error {
	b.lock.counter.stalled.Store(false)
	return nil
}
