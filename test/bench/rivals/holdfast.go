// Package rivals has what is compared: holdfast itself, other lock libraries, and the
// recipes that people write themselves, each as a contender.
package rivals

import (
	"context"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// HoldfastContender is holdfast through rueidis.
var HoldfastContender = contend.Contender{
	Who:      "holdfast",
	Library:  "rueidis",
	Settings: "rueidisstore with all defaults; in B7 Options.Linger is 1 s. Each caller reads the token.",
	Sends:    []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"},
	Open: func(s contend.Setup) (contend.Session, error) {
		rc, err := contend.NewRueidis(s.Addr)
		if err != nil {
			return nil, err
		}
		return holdfastSession{holdfast.New(rueidisstore.New(rc), optionsFor(s)), rc.Close}, nil
	},
}

func optionsFor(s contend.Setup) *holdfast.Options {
	if s.Linger == 0 {
		return nil
	}
	return &holdfast.Options{Linger: s.Linger}
}

type holdfastSession struct {
	client      *holdfast.Client
	closeDriver func()
}

func (s holdfastSession) Mutex(_ int, name string) (contend.Mutex, error) {
	return &holdfastMutex{mutex: s.client.Mutex(name)}, nil
}

func (s holdfastSession) Close() {
	_ = s.client.Close()
	s.closeDriver()
}

type holdfastMutex struct {
	mutex *holdfast.Mutex
	lease *holdfast.Lease
	token int64
}

func (m *holdfastMutex) Lock(ctx context.Context) (err error) {
	if m.lease, err = m.mutex.Lock(ctx); err == nil {
		m.token = m.lease.Token()
	}
	return err
}

func (m *holdfastMutex) Unlock() error { return m.lease.Release() }
