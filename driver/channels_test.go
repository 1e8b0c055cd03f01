package driver_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// conn is a connection whose server does what the test says.
type conn struct {
	receiver *driver.Receiver

	mu       sync.Mutex // protects the rest
	requests []request
	shut     bool
}

type request struct {
	channel  string
	end      bool
	answered func(error)
}

func (c *conn) Request(channel string, end bool, answered func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, request{channel, end, answered})
}

func (c *conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
}

func (c *conn) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut
}

// pending checks how many requests are unanswered.
func (c *conn) pending(t *testing.T, want int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := len(c.requests); got != want {
		t.Errorf("got %d requests that are not answered, want %d", got, want)
	}
}

// take takes so many requests, or all.
func (c *conn) take(most int) []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(most, len(c.requests))
	taken := c.requests[:n]
	c.requests = c.requests[n:]
	return taken
}

// answer answers the oldest request: it is done, or refused.
func (c *conn) answer(t *testing.T, channel string, end bool, refused error) {
	t.Helper()
	oldest := c.take(1)
	if len(oldest) == 0 || oldest[0].channel != channel || oldest[0].end != end {
		t.Fatalf("the next request is %v, want %s, end %v", oldest, channel, end)
	}
	r := oldest[0]
	switch {
	case refused != nil:
	case end:
		c.receiver.Ended(channel)
	default:
		c.receiver.Confirmed(channel)
	}
	r.answered(refused)
	synctest.Wait()
}

// drop ends the connection, as a driver would.
func (c *conn) drop(err error) {
	c.receiver.Broken(err)
	for _, r := range c.take(math.MaxInt) {
		r.answered(err)
	}
	synctest.Wait()
}

// sleep lets time pass, and all happen that is due.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// world is Channels and what they dialled.
type world struct {
	channels driver.Channels

	mu      sync.Mutex // protects dialled
	dialled []*conn
}

func (w *world) conns() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dialled
}

func (w *world) dial(receiver *driver.Receiver) driver.ChannelConn {
	c := &conn{receiver: receiver}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialled = append(w.dialled, c)
	return c
}

// call is a Subscribe that may not have returned yet.
type call struct {
	cancel context.CancelFunc
	over   bool
	sub    driver.Subscription
	err    error
	got    []string
}

func (w *world) ask(server, channel string) *call {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	c := &call{cancel: cancel}
	go func() {
		c.sub, c.err = w.channels.Subscribe(ctx, server, w.dial, channel, func(payload string) { c.got = append(c.got, payload) })
		c.over = true
	}()
	synctest.Wait()
	return c
}

// subscribe asks for a channel on a connection, and the server confirms.
func (w *world) subscribe(t *testing.T, on int, channel string) *call {
	t.Helper()
	c := w.ask("s", channel)
	if len(w.conns()) <= on {
		t.Fatalf("%s: no connection %d", channel, on)
	}
	w.conns()[on].answer(t, channel, false, nil)
	if c.sub == nil {
		t.Fatalf("%s: %v", channel, c.err)
	}
	return c
}

func (c *call) ended(t *testing.T, want bool) {
	t.Helper()
	ended := false
	select {
	case <-c.sub.Done():
		ended = true
	default:
	}
	if ended != want {
		t.Errorf("a subscription has ended: %v, want %v", ended, want)
	}
}

func (c *call) heard(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(c.got, want) {
		t.Errorf("got %q, want %q", c.got, want)
	}
}

func run(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		test(t, w)
		w.channels.Close()
		for _, c := range w.conns() {
			c.drop(errors.New("closed"))
		}
	})
}

func (w *world) count(t *testing.T, want int) {
	t.Helper()
	if got := len(w.conns()); got != want {
		t.Errorf("got %d connections, want %d", got, want)
	}
}

// The channels of one server share a connection, and each gets its own messages.
func TestShares(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a, b := w.ask("s", "a"), w.ask("s", "b")
		w.conns()[0].pending(t, 1)
		w.conns()[0].answer(t, "a", false, nil)
		w.conns()[0].answer(t, "b", false, nil)
		w.count(t, 1)
		w.conns()[0].receiver.Message("a", "1")
		w.conns()[0].receiver.Message("b", "2")
		a.heard(t, "1")
		b.heard(t, "2")
		w.ask("other", "c")
		w.count(t, 2)
		w.ask("", "d")
		w.ask("", "e")
		w.count(t, 4)
		if w.conns()[3].receiver == w.conns()[2].receiver {
			t.Error("subscriptions without a server share")
		}
		w.conns()[2].answer(t, "d", false, nil)
		w.conns()[3].answer(t, "e", false, nil)
		w.conns()[1].answer(t, "c", false, nil)
	})
}

// One that listens slowly keeps its messages in order, and nobody else from theirs.
func TestSlowListener(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		goOn, got := make(chan struct{}), []string{}
		var inside atomic.Int32
		go func() {
			_, _ = w.channels.Subscribe(context.Background(), "s", w.dial, "slow", func(payload string) {
				if inside.Add(1) > 1 {
					t.Error("two messages are told at once")
				}
				<-goOn
				inside.Add(-1)
				got = append(got, payload)
			})
		}()
		synctest.Wait()
		w.conns()[0].answer(t, "slow", false, nil)
		quick := w.subscribe(t, 0, "quick")
		for _, payload := range []string{"1", "2", "3"} {
			w.conns()[0].receiver.Message("slow", payload)
			w.conns()[0].receiver.Message("quick", payload)
			if payload == "2" {
				synctest.Wait()
			}
		}
		quick.heard(t, "1", "2", "3")
		close(goOn)
		synctest.Wait()
		if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A subscription gets nothing that was read before its own confirmation: it may have
// been published before it was asked for.
func TestNothingBeforeTheConfirmation(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.subscribe(t, 0, "a")
		b := w.ask("s", "b")
		w.conns()[0].receiver.Message("b", "early")
		w.conns()[0].answer(t, "b", false, nil)
		w.conns()[0].receiver.Message("b", "1")
		b.heard(t, "1")
		again := w.ask("s", "b") // beside the first
		w.count(t, 2)
		w.conns()[0].receiver.Message("b", "2")
		w.conns()[1].answer(t, "b", false, nil)
		w.conns()[1].receiver.Message("b", "2")
		b.heard(t, "1", "2")
		again.heard(t, "2")
	})
}

// Two that want the same channel while somebody connects get a connection each.
func TestSameChannelAtOnce(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.ask("s", "a")
		one, other := w.ask("s", "b"), w.ask("s", "b")
		w.count(t, 1)
		w.conns()[0].answer(t, "a", false, nil)
		w.count(t, 2)
		w.conns()[0].answer(t, "b", false, nil)
		w.conns()[1].answer(t, "b", false, nil)
		one.ended(t, false)
		other.ended(t, false)
	})
}

// A channel comes back to a connection only after the server has let it go and answered
// all that was asked about it.
func TestComesBackWhenAllIsAnswered(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.subscribe(t, 0, "a")
		b := w.subscribe(t, 0, "b")
		go func() { _ = b.sub.Ping(t.Context()) }()
		synctest.Wait()
		b.sub.Close()
		w.subscribe(t, 1, "b").sub.Close() // the ping is not answered
		w.conns()[0].answer(t, "b", false, nil)
		w.subscribe(t, 2, "b").sub.Close() // now the end is not
		w.conns()[0].receiver.Message("b", "late")
		w.conns()[0].answer(t, "b", true, nil)
		w.subscribe(t, 0, "b").heard(t)
		if !w.conns()[1].closed() || !w.conns()[2].closed() || w.conns()[0].closed() {
			t.Error("want the connections without a subscription closed, and no other")
		}
	})
}

// A confirmation that comes after nobody listens any more is taken back.
func TestLetsGoWhatIsConfirmedLate(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.subscribe(t, 0, "a")
		b := w.ask("s", "b")
		b.cancel()
		synctest.Wait()
		if !errors.Is(b.err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", b.err)
		}
		w.conns()[0].answer(t, "b", false, nil)
		w.conns()[0].answer(t, "b", true, nil)
		w.subscribe(t, 0, "b")
	})
}

// A channel that ends unasked ends alone, and comes back.
func TestEndsAlone(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a, b := w.subscribe(t, 0, "a"), w.subscribe(t, 0, "b")
		w.conns()[0].receiver.Ended("b")
		a.ended(t, false)
		b.ended(t, true)
		w.subscribe(t, 0, "b")
		w.count(t, 1)
		w.conns()[0].receiver.Ended("a")
		w.conns()[0].receiver.Ended("b")
		if !w.conns()[0].closed() {
			t.Error("a connection that nobody uses is open")
		}
	})
}

// A connection that breaks ends all that is on it.
func TestBreaks(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a, b := w.subscribe(t, 0, "a"), w.subscribe(t, 0, "b")
		sleep(time.Millisecond)
		c := w.ask("s", "c")
		w.conns()[0].drop(errors.New("cut"))
		a.ended(t, true)
		b.ended(t, true)
		w.conns()[1].answer(t, "c", false, nil) // it was asked for on an older connection than its own
		c.ended(t, false)
		if err := a.sub.Ping(t.Context()); err == nil {
			t.Error("a ping on a broken connection worked")
		}
	})
}

// A driver may report the end of a connection without an error, while a second request waits for it.
func TestBreaksWithoutAnError(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a := w.ask("s", "a")
		sleep(time.Millisecond)
		b := w.ask("s", "b")
		w.conns()[0].drop(nil)
		if a.err == nil {
			t.Error("a request that got no answer worked")
		}
		w.conns()[1].answer(t, "b", false, nil)
		b.ended(t, false)
	})
}

// What a server refuses concerns that channel alone, and is returned as it is.
func TestRefuses(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		refused := errors.New("NOPERM")
		a, b := w.ask("s", "a"), w.ask("s", "b")
		w.conns()[0].answer(t, "a", false, refused)
		if !errors.Is(a.err, refused) {
			t.Errorf("got %v, want %v", a.err, refused)
		}
		w.conns()[0].answer(t, "b", false, nil)
		b.ended(t, false)
		c := w.ask("", "c")
		w.conns()[1].drop(refused)
		if !errors.Is(c.err, refused) || len(w.conns()) != 2 {
			t.Errorf("got %v after %d connections, want %v and no second try on a new connection", c.err, len(w.conns()), refused)
		}
	})
}

// No subscription joins a connection that is silent; what waits on it goes elsewhere.
func TestSilentConnection(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a := w.subscribe(t, 0, "a")
		sleep(time.Hour) // nothing is owed
		b := w.ask("s", "b")
		w.count(t, 1)
		sleep(time.Second)
		w.conns()[0].receiver.Message("a", "a sign of life")
		sleep(1500 * time.Millisecond)
		w.count(t, 1)
		sleep(1500 * time.Millisecond)
		w.count(t, 2)
		w.conns()[1].answer(t, "b", false, nil)
		a.ended(t, false)
		b.ended(t, false)
		w.ask("s", "c")
		w.conns()[1].answer(t, "c", false, nil) // and not the silent one
		w.conns()[0].answer(t, "b", false, nil)
		w.conns()[0].answer(t, "b", true, nil)
		w.subscribe(t, 0, "d") // it lives
		b.heard(t)
	})
}

// There are three connections to a server at most. One more ends the silent one with
// the fewest users.
func TestThreeConnections(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a := w.subscribe(t, 0, "a")
		calls := []*call{w.subscribe(t, 0, "b")}
		for i := range 3 {
			go func() { _ = calls[i].sub.Ping(t.Context()) }()
			sleep(2500 * time.Millisecond)
			calls = append(calls, w.subscribe(t, i+1, string(rune('c'+i))))
		}
		a.ended(t, false)
		calls[0].ended(t, false)
		if !w.conns()[1].closed() && !w.conns()[2].closed() || w.conns()[3].closed() {
			t.Error("want one of the silent connections with one subscription closed")
		}
	})
}

// A server that keeps a channel although nobody listens counts a dead listener, so the
// connection is closed; where the right is missing, each channel has one.
func TestChannelThatIsNotLetGo(t *testing.T) {
	for refused, want := range map[string]struct{ ends, alone bool }{
		"MOVED 1 h:1": {false, false}, "CLUSTERDOWN x": {true, false}, "NOPERM x": {true, true}, "ERR unknown command": {true, true},
	} {
		t.Run(refused, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				a, b := w.subscribe(t, 0, "a"), w.subscribe(t, 0, "b")
				b.sub.Close()
				w.conns()[0].answer(t, "b", true, driver.ServerError(refused))
				a.ended(t, want.ends)
				next := len(w.conns())
				if !want.ends {
					next = 0
				}
				w.subscribe(t, next, "c")
				if want.alone {
					next++
				}
				w.subscribe(t, next, "d")
			})
		})
	}
}

// After Close nothing is subscribed.
func TestChannelsClose(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		a := w.subscribe(t, 0, "a")
		if !w.channels.Close() || w.channels.Close() {
			t.Error("Close does not report its first call")
		}
		a.ended(t, true)
		if c := w.ask("s", "b"); c.err == nil {
			t.Error("subscribed after Close")
		}
		if !w.conns()[0].closed() {
			t.Error("a connection is left open")
		}
	})
}
