package bench

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var (
	rueidislockContender       = newRueidislock("rueidislock", "KeyMajority 1, as its README says for a single server. Without a deadline it sometimes waits forever, so its context ends with the run.", false)
	rueidislockNoLoopContender = newRueidislock("rueidislock-noloop", "the same with NoLoopTracking, which its README calls faster.", true)
)

func newRueidislock(who, settings string, noLoop bool) contender {
	return contender{
		who:      who,
		library:  "rueidis",
		hangs:    true,
		settings: settings,
		sends:    []string{"evalsha", "eval", "ping"},
		open: func(s setup) (session, error) {
			locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
				ClientOption:   rueidis.ClientOption{InitAddress: []string{s.Addr}},
				KeyMajority:    1,
				NoLoopTracking: noLoop,
			})
			return rueidislockSession{locker}, err
		},
	}
}

type rueidislockSession struct{ locker rueidislock.Locker }

func (s rueidislockSession) mutex(_ int, name string) (mutex, error) {
	return &rueidislockMutex{locker: s.locker, name: name}, nil
}

func (s rueidislockSession) close() { s.locker.Close() }

type rueidislockMutex struct {
	locker rueidislock.Locker
	name   string
	cancel context.CancelFunc
}

// lock: ctx bounds the hold here as well as the wait. Under the caller's own,
// the end of the cell would look like a lost lock; only what was granted before
// that is counted.
func (m *rueidislockMutex) lock(ctx context.Context) (err error) {
	_, m.cancel, err = m.locker.WithContext(ctx, m.name)
	return err
}

func (m *rueidislockMutex) unlock() error { m.cancel(); return nil }
