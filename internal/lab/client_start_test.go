//go:build unix

package lab_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// The tests of client_*_test.go have several Clients in one process: to Redis
// and to each other they are strangers. A long ttl proves that what went away
// in time was taken away, and did not expire.
const long = time.Hour

// open makes a Client with a store of its own, of the drivers in turn, which ends
// with the test.
func open(t testing.TB, url string, options holdfast.Options) *holdfast.Client {
	t.Helper()
	d := drivers[clientsMade.Add(1)%int32(len(drivers))]
	client := holdfast.New(d.open(t, url, way{}), &options)
	t.Cleanup(func() { _ = client.Close() }) // some tests end with a server that does not answer
	return client
}

var clientsMade atomic.Int32

// take locks a name that will be free soon.
func take(t testing.TB, client *holdfast.Client, name string) *holdfast.Lease {
	t.Helper()
	return asking(t.Context(), client.Mutex(name)).lease(t)
}

func giveBack(t testing.TB, lease *holdfast.Lease) {
	t.Helper()
	if err := lease.Release(); err != nil {
		t.Errorf("release of %s: got %v, want nil", lease.Name(), err)
	}
}

// asked is a call of Lock that goes on in the background.
type asked chan outcome

type outcome struct {
	lease *holdfast.Lease
	err   error
}

func asking(ctx context.Context, mutex *holdfast.Mutex) asked {
	a := make(asked, 1)
	go func() {
		lease, err := mutex.Lock(ctx)
		a <- outcome{lease, err}
	}()
	return a
}

func (a asked) pending() bool { return len(a) == 0 }

func (a asked) answer(t testing.TB) outcome {
	t.Helper()
	select {
	case o := <-a:
		return o
	case <-time.After(patience):
		t.Fatal("Lock did not return in time")
		return outcome{}
	}
}

func (a asked) lease(t testing.TB) *holdfast.Lease {
	t.Helper()
	o := a.answer(t)
	if o.err != nil {
		t.Fatalf("lock: got %v, want a lease", o.err)
	}
	return o.lease
}

// refused wants Lock to end with an error.
func (a asked) refused(t testing.TB, want error) {
	t.Helper()
	o := a.answer(t)
	if o.lease != nil {
		t.Errorf("lock: got a lease of %s, want %v", o.lease.Name(), want)
	} else if !errors.Is(o.err, want) {
		t.Errorf("lock: got %v, want %v", o.err, want)
	}
}

// bounded runs a call that must return by itself.
func bounded(t testing.TB, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(slack): // far more than the two seconds it is given
		t.Fatalf("%s did not return", what)
		return nil
	}
}

// lostBy wants a lease to be over for that cause.
func lostBy(t testing.TB, err error, want holdfast.Cause) {
	t.Helper()
	lost, ok := errors.AsType[*holdfast.LostError](err)
	if !ok || lost.Cause != want || !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want a lease that is lost: %s", err, want)
	}
}

// closed waits for a channel to be closed.
func closed(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("not in time: %s", what)
	}
}

// commands counts the scripts that clients have sent.
func commands(t testing.TB, servers ...*redistest.Server) (n int64) {
	t.Helper()
	for _, server := range servers {
		calls, err := server.CommandStats()
		if err != nil {
			t.Fatal(err)
		}
		n += calls["evalsha"] + calls["eval"]
	}
	return n
}

// gone reports whether neither L nor Q of a name is there.
func gone(t testing.TB, server *redistest.Server, name string) bool {
	t.Helper()
	return server.MustDo(t, "EXISTS", keyL(name), keyQ(name)) == "0"
}

// journal notes the events of one Client in their order.
type journal struct {
	mu     sync.Mutex
	events []holdfast.Event
}

func (j *journal) note(e holdfast.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) all() []holdfast.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]holdfast.Event(nil), j.events...)
}

// told are the events of one kind.
func told[E holdfast.Event](j *journal) (events []E) {
	for _, e := range j.all() {
		if e, ok := e.(E); ok {
			events = append(events, e)
		}
	}
	return events
}

// more waits for n events of one kind from now on, and returns all of it.
func more[E holdfast.Event](t testing.TB, j *journal, n int) []E {
	t.Helper()
	before := len(told[E](j))
	var zero E
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if events := told[E](j); len(events) >= before+n {
			return events
		}
		if time.Now().After(deadline) {
			all := j.all()
			t.Fatalf("waited in vain for %d events %T; the last were %+v", n, zero, all[max(0, len(all)-10):])
		}
	}
}

// logbook keeps what a Client logs.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
