package rivals

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// rueidislock, in two settings.
var (
	RueidislockContender       = newRueidislock("rueidislock", "KeyMajority 1, as its README says for a single server. Without a deadline it sometimes waits forever, so its context ends with the run.", false)
	RueidislockNoLoopContender = newRueidislock("rueidislock-noloop", "the same with NoLoopTracking, which its README calls faster.", true)
)

func newRueidislock(who, settings string, noLoop bool) contend.Contender {
	return contend.Contender{
		Who:      who,
		Library:  "rueidis",
		Hangs:    true,
		Settings: settings,
		Sends:    []string{"evalsha", "eval", "ping"},
		Open: func(s contend.Setup) (contend.Session, error) {
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

func (s rueidislockSession) Mutex(_ int, name string) (contend.Mutex, error) {
	return &rueidislockMutex{locker: s.locker, name: name}, nil
}

func (s rueidislockSession) Close() { s.locker.Close() }

type rueidislockMutex struct {
	locker rueidislock.Locker
	name   string
	cancel context.CancelFunc
}

// lock: ctx bounds the hold here as well as the wait. Under the caller's own,
// the end of the cell would look like a lost lock; only what was granted before
// that is counted.
func (m *rueidislockMutex) Lock(ctx context.Context) (err error) {
	_, m.cancel, err = m.locker.WithContext(ctx, m.name)
	return err
}

func (m *rueidislockMutex) Unlock() error { m.cancel(); return nil }
