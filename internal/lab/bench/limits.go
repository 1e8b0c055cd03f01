package bench

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/redis/rueidis"
)

// limits are no locks, or poor ones: what a lock on this machine, server and
// client library could reach at best. Each has workloads of its own.
var limits = []contender{pingLimit, setLimit, workLimit}

var pingLimit = contender{
	who:   "ping",
	sends: []string{"ping"},
	open: func(addr string) (session, error) {
		rc, err := newRueidis(addr)
		return pingSession{rc}, err
	},
}

// pingSession makes one round trip for an acquisition and none for a release.
type pingSession struct{ rc rueidis.Client }

func (s pingSession) lock(ctx context.Context, _ string) (func() error, error) {
	return nothing, s.rc.Do(ctx, s.rc.B().Ping().Build()).Error()
}

func (s pingSession) close() { s.rc.Close() }

var setLimit = contender{
	who:   "set",
	sends: []string{"set", "evalsha", "eval", "ping"},
	open: func(addr string) (session, error) {
		rc, err := newRueidis(addr)
		return setSession{rc}, err
	},
}

// setSession takes a free lock by SET NX and gives it back by the script of the
// Redis documentation: no renewal, no token, no waiting.
type setSession struct{ rc rueidis.Client }

var compareAndDelete = rueidis.NewLuaScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (s setSession) lock(ctx context.Context, name string) (func() error, error) {
	id := rand.Text()
	set := s.rc.B().Arbitrary("SET").Keys(name).Args(id, "NX", "PX", strconv.FormatInt(ttl.Milliseconds(), 10)).Build()
	if err := s.rc.Do(ctx, set).Error(); err != nil {
		return nil, err
	}
	return func() error {
		return compareAndDelete.Exec(context.Background(), s.rc, []string{name}, []string{id}).Error()
	}, nil
}

func (s setSession) close() { s.rc.Close() }

// workLimit is the work without any lock.
var workLimit = contender{
	who:  "work",
	open: func(string) (session, error) { return workSession{}, nil },
}

type workSession struct{}

func (workSession) lock(context.Context, string) (func() error, error) { return nothing, nil }
func (workSession) close()                                             {}

func nothing() error { return nil }

// newRueidis is the client of holdfast and of the limits: rueidis as it comes.
func newRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
}
