package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/subscription"
)

// log is a Listener that notes each report and its time.
type log struct {
	began    time.Time
	attempts int
	lines    []string
}

func (l *log) note(format string, about ...any) {
	l.lines = append(l.lines, fmt.Sprintf("%v ", time.Since(l.began))+fmt.Sprintf(format, about...))
}
func (l *log) Began() int { l.attempts++; return l.attempts }
func (l *log) Confirmed() { l.note("confirmed") }
func (l *log) Broke(err error, backoff time.Duration) time.Duration {
	l.note("broke: %v", err)
	return backoff / 2 // the whole of it, together with the other half
}
func (l *log) Pushed(attempt int, payload string) { l.note("pushed %d %s", attempt, payload) }

// server is a store whose n-th subscription fails with the n-th error, if there is one.
type server struct {
	driver.Store
	fails   []error
	n       int
	silent  atomic.Bool
	message func(string)
	ended   chan struct{}
}

func (s *server) Subscribe(_ context.Context, _ string, message func(string)) (driver.Subscription, error) {
	if s.n++; s.n <= len(s.fails) && s.fails[s.n-1] != nil {
		return nil, s.fails[s.n-1]
	}
	s.message, s.ended = message, make(chan struct{})
	return s, nil
}
func (s *server) Ping(ctx context.Context) error {
	if s.silent.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}
func (s *server) Done() <-chan struct{} { return s.ended }
func (s *server) Close()                {}

func TestKeep(t *testing.T) {
	down := errors.New("down")
	for name, test := range map[string]struct {
		fails []error
		do    func(k *subscription.Keeper, s *server)
		want  []string
	}{
		"a push": {
			do:   func(_ *subscription.Keeper, s *server) { time.Sleep(time.Minute); s.message("hello") },
			want: []string{"0s confirmed", "1m0s pushed 1 hello"},
		},
		"a backoff that doubles": {
			fails: []error{down, down, down},
			do:    func(*subscription.Keeper, *server) { time.Sleep(time.Minute) },
			want:  []string{"0s broke: down", "20ms broke: down", "60ms broke: down", "140ms confirmed"},
		},
		"and ends at a second": {
			fails: slices.Repeat([]error{down}, 8),
			do:    func(*subscription.Keeper, *server) { time.Sleep(3 * time.Second) },
			want:  []string{"0s broke: down", "20ms broke: down", "60ms broke: down", "140ms broke: down", "300ms broke: down", "620ms broke: down", "1.26s broke: down", "2.26s broke: down"},
		},
		"the end": {
			do: func(_ *subscription.Keeper, s *server) {
				time.Sleep(time.Second)
				close(s.ended)
				time.Sleep(time.Second)
			},
			want: []string{"0s confirmed", "1s broke: the connection ended", "1.02s confirmed"},
		},
		"silence": {
			do: func(_ *subscription.Keeper, s *server) {
				s.silent.Store(true)
				time.Sleep(10*time.Second + time.Millisecond)
				s.silent.Store(false)
				time.Sleep(time.Second)
			},
			want: []string{"0s confirmed", "10s broke: context deadline exceeded", "10.02s confirmed"},
		},
		"a doubt": {
			do: func(k *subscription.Keeper, _ *server) {
				time.Sleep(time.Second)
				k.Reopen()
				time.Sleep(time.Second)
			},
			want: []string{"0s confirmed", "1s broke: the server does not know the subscription", "1.02s confirmed"},
		},
		"a doubt while a ping hangs": {
			do: func(k *subscription.Keeper, s *server) {
				s.silent.Store(true)
				time.Sleep(6 * time.Second)
				k.Reopen()
				time.Sleep(time.Second)
			},
			want: []string{"0s confirmed", "6s broke: the server does not know the subscription", "6.02s confirmed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, s := &log{began: time.Now()}, &server{fails: test.fails}
				k := subscription.New(t.Context(), "channel", l)
				kept := make(chan struct{})
				go func() { defer close(kept); k.Keep(s) }()
				synctest.Wait()
				test.do(k, s)
				k.Close()
				<-kept
				if !slices.Equal(l.lines, test.want) {
					t.Errorf("got  %q\nwant %q", l.lines, test.want)
				}
				if !k.Closed() {
					t.Error("it is not closed")
				}
			})
		})
	}
}

// A right that is missing is explained.
func TestNoRightToSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{began: time.Now()}
		k := subscription.New(t.Context(), "channel", l)
		go k.Keep(&server{fails: []error{driver.ServerError("NOPERM this user has no permissions to access one of the channels used as arguments")}})
		synctest.Wait()
		k.Close()
		synctest.Wait()
		if len(l.lines) != 1 || !strings.Contains(l.lines[0], "needs the right to subscribe to the channels holdfast/") {
			t.Errorf("got %q, want what right is needed", l.lines)
		}
	})
}
