package bench

import (
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

var holdfastContender = contender{
	who:      "holdfast",
	library:  "rueidis",
	settings: "rueidisstore with all defaults; in B7 Options.Linger is 1 s. Each caller reads the token.",
	sends:    []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"},
	open: func(s setup) (session, error) {
		rc, err := newRueidis(s.Addr)
		if err != nil {
			return nil, err
		}
		return holdfastSession{holdfast.New(rueidisstore.New(rc), optionsFor(s)), rc.Close}, nil
	},
}

func optionsFor(s setup) *holdfast.Options {
	if s.Linger == 0 {
		return nil
	}
	return &holdfast.Options{Linger: s.Linger}
}

type holdfastSession struct {
	client      *holdfast.Client
	closeDriver func()
}

func (s holdfastSession) mutex(_ int, name string) (mutex, error) {
	return &holdfastMutex{mutex: s.client.Mutex(name)}, nil
}

func (s holdfastSession) close() {
	_ = s.client.Close()
	s.closeDriver()
}

type holdfastMutex struct {
	mutex *holdfast.Mutex
	lease *holdfast.Lease
	token int64
}

func (m *holdfastMutex) lock(ctx context.Context) (err error) {
	if m.lease, err = m.mutex.Lock(ctx); err == nil {
		m.token = m.lease.Token()
	}
	return err
}

func (m *holdfastMutex) unlock() error { return m.lease.Release() }
