package bench

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var rueidislockContender = contender{
	who:      "rueidislock",
	settings: "KeyMajority 1 and NoLoopTracking, as its README says for a single server.",
	sends:    []string{"evalsha", "eval", "ping"},
	open: func(addr string) (session, error) {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: []string{addr}},
			KeyMajority:    1,
			NoLoopTracking: true,
		})
		return rueidislockSession{locker}, err
	},
}

type rueidislockSession struct{ locker rueidislock.Locker }

func (s rueidislockSession) lock(ctx context.Context, name string) (func() error, error) {
	// Its ctx bounds the hold as well as the wait. Under the caller's own, the
	// end of the cell would look like a lost lock; only what was granted
	// before that is counted.
	_, cancel, err := s.locker.WithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return func() error { cancel(); return nil }, nil
}

func (s rueidislockSession) close() { s.locker.Close() }
