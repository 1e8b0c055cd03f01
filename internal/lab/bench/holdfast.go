package bench

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

var holdfastContender = contender{
	who:      "holdfast",
	settings: "rueidisstore, all defaults.",
	sends:    []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"},
	open: func(addr string) (session, error) {
		rc, err := newRueidis(addr)
		if err != nil {
			return nil, err
		}
		return &holdfastSession{rc, holdfast.New(rueidisstore.New(rc), nil)}, nil
	},
}

type holdfastSession struct {
	rc     rueidis.Client
	client *holdfast.Client
}

func (s *holdfastSession) lock(ctx context.Context, name string) (func() error, error) {
	lease, err := s.client.Mutex(name).Lock(ctx)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (s *holdfastSession) close() {
	_ = s.client.Close()
	s.rc.Close()
}
