package limit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

// handThrough is the least script that gives a lock to one who waits and tells him.
const handThrough = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then redis.call("SET", KEYS[1], ARGV[1]) end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return redis.call("PUBLISH", ARGV[4], ARGV[2])`

var rueidisHandThrough = rueidis.NewLuaScript(handThrough)

// pushLimits pass a name round in a ring: nobody asks for it, who has it knows who
// is next. It is the way that every hand-over by a push has to go: a command to
// the server, a message from there, and a goroutine that wakes.
var pushLimits = []contend.Contender{
	{
		Who: "limit-push", Library: "rueidis",
		Settings: "a ring: the holder sends one PUBLISH to the next waiter, through rueidis. No lock, no key.",
		Sends:    []string{"publish", "incr", "subscribe", "ping"},
		Open: openRing(func(r *ring, next string) (int64, error) {
			return r.rc.Do(context.Background(), r.rc.B().Publish().Channel(next).Message("grant").Build()).AsInt64()
		}),
	},
	{
		Who: "limit-push-script", Library: "rueidis",
		Settings: "the same ring by one script: GET, SET, PUBLISH.",
		Sends:    []string{"evalsha", "eval", "incr", "subscribe", "ping"},
		Open: openRing(func(r *ring, next string) (int64, error) {
			return rueidisHandThrough.Exec(context.Background(), r.rc, []string{r.name}, []string{r.own, next, contend.TTLText, next}).AsInt64()
		}),
	},
}

// ring is one seat of it.
type ring struct {
	rc      rueidis.Client
	name    string
	seat    int64
	own     string        // the channel of the seat
	next    string        // that of the one behind; empty: not found yet
	granted chan struct{} // of 1
	pass    func(r *ring, next string) (heard int64, err error)
}

func openRing(pass func(*ring, string) (int64, error)) func(contend.Setup) (contend.Session, error) {
	return contend.OnRueidis(func(rc rueidis.Client) contend.Session { return ringSession{rc, pass} })
}

type ringSession struct {
	rc   rueidis.Client
	pass func(*ring, string) (int64, error)
}

func (s ringSession) Close() { s.rc.Close() }

// Mutex takes a seat, and listens when it returns.
func (s ringSession) Mutex(_ int, name string) (contend.Mutex, error) {
	taken, err := s.rc.Do(context.Background(), s.rc.B().Incr().Key("seats:"+name).Build()).AsInt64()
	if err != nil {
		return nil, err
	}
	r := &ring{rc: s.rc, name: name, seat: taken - 1, own: seatOf(name, taken-1), granted: make(chan struct{}, 1), pass: s.pass}
	if err := listen(s.rc, r.own, r.granted); err != nil {
		return nil, err
	}
	if r.seat == 0 {
		r.granted <- struct{}{} // it begins here
	}
	return r, nil
}

// nextMessage tells who stands first now, and is no grant.
const nextMessage = "next"

// listen sends to granted whenever something else is published on a channel, for as
// long as the process lives.
func listen(rc rueidis.Client, channel string, granted chan<- struct{}) error {
	dedicated, _ := rc.Dedicate()
	subscribed := make(chan struct{})
	var once sync.Once
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			if m.Message != nextMessage {
				granted <- struct{}{}
			}
		},
		OnSubscription: func(rueidis.PubSubSubscription) { once.Do(func() { close(subscribed) }) },
	})
	if err := dedicated.Do(context.Background(), rc.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		return err
	}
	select {
	case <-subscribed:
		return nil
	case <-time.After(10 * time.Second):
		return fmt.Errorf("%s: not subscribed after 10s", channel)
	}
}

func seatOf(name string, seat int64) string { return fmt.Sprintf("seat:%s:%d", name, seat) }

func (r *ring) Lock(ctx context.Context) error {
	return granted(ctx, r.granted)
}

// granted waits for what listen sends.
func granted(ctx context.Context, grants <-chan struct{}) error {
	select {
	case <-grants:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock passes the name to the seat behind, or from the last one to the first.
func (r *ring) Unlock() error {
	if r.next != "" {
		_, err := r.pass(r, r.next)
		return err
	}
	next := seatOf(r.name, r.seat+1)
	heard, err := r.pass(r, next)
	if err == nil && heard == 0 {
		next = seatOf(r.name, 0)
		heard, err = r.pass(r, next)
	}
	if heard > 0 {
		r.next = next
	}
	return err
}
