package clienttest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Long is a ttl that proves that what went away in time was taken away, and did not
// expire.
const Long = time.Hour

// Open makes a Client with a store of its own, of the drivers in turn, which ends
// with the test.
func Open(t testing.TB, url string, options holdfast.Options) *holdfast.Client {
	t.Helper()
	d := Drivers[clientsMade.Add(1)%int32(len(Drivers))]
	client := holdfast.New(d.Open(t, url, Way{}), &options)
	t.Cleanup(func() { _ = client.Close() }) // some tests end with a server that does not answer
	return client
}

var clientsMade atomic.Int32

// Take locks a name that will be free soon.
func Take(t testing.TB, client Locker, name string) *holdfast.Lease {
	t.Helper()
	return Asking(t.Context(), client.Mutex(name)).Lease(t)
}

// Locker is a client of one master or of a quorum.
type Locker interface {
	Mutex(name string) *holdfast.Mutex
	Multi(names ...string) *holdfast.Multi
	Election(name string) *holdfast.Election
	Close() error
}

// GiveBack releases a lease and wants no error.
func GiveBack(t testing.TB, lease *holdfast.Lease) {
	t.Helper()
	if err := lease.Release(); err != nil {
		t.Errorf("release of %s: got %v, want nil", lease.Name(), err)
	}
}

// Asked is a call of Lock that goes on in the background.
type Asked chan Outcome

// Outcome is what Lock returned.
type Outcome struct {
	Lease *holdfast.Lease
	Err   error
}

// Asking calls Lock in the background.
func Asking(ctx context.Context, mutex *holdfast.Mutex) Asked {
	a := make(Asked, 1)
	go func() {
		lease, err := mutex.Lock(ctx)
		a <- Outcome{lease, err}
	}()
	return a
}

// Pending reports whether Lock has not returned yet.
func (a Asked) Pending() bool { return len(a) == 0 }

// Answer waits for what Lock returns.
func (a Asked) Answer(t testing.TB) Outcome {
	t.Helper()
	select {
	case o := <-a:
		return o
	case <-time.After(Patience):
		t.Fatal("Lock did not return in time")
		return Outcome{}
	}
}

// Lease wants Lock to return a lease.
func (a Asked) Lease(t testing.TB) *holdfast.Lease {
	t.Helper()
	o := a.Answer(t)
	if o.Err != nil {
		t.Fatalf("lock: got %v, want a lease", o.Err)
	}
	return o.Lease
}

// Refused wants Lock to end with an error.
func (a Asked) Refused(t testing.TB, want error) {
	t.Helper()
	o := a.Answer(t)
	if o.Lease != nil {
		t.Errorf("lock: got a lease of %s, want %v", o.Lease.Name(), want)
	} else if !errors.Is(o.Err, want) {
		t.Errorf("lock: got %v, want %v", o.Err, want)
	}
}

// Bounded runs a call that must return by itself.
func Bounded(t testing.TB, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(Slack): // far more than the two seconds it is given
		t.Fatalf("%s did not return", what)
		return nil
	}
}

// LostBy wants a lease to be over for that cause.
func LostBy(t testing.TB, err error, want holdfast.Cause) {
	t.Helper()
	lost, ok := errors.AsType[*holdfast.LostError](err)
	if !ok || lost.Cause != want || !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want a lease that is lost: %s", err, want)
	}
}

// Closed waits for a channel to be closed.
func Closed(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(Patience):
		t.Fatalf("not in time: %s", what)
	}
}

// Commands counts the scripts that clients have sent.
func Commands(t testing.TB, servers ...*redistest.Server) (n int64) {
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

// Gone reports whether neither the lock key nor the queue of a name is there.
func Gone(t testing.TB, server *redistest.Server, name string) bool {
	t.Helper()
	return server.MustDo(t, "EXISTS", LockKey(name), QueueKey(name)) == "0"
}

// Journal notes the events of one Client in their order.
type Journal struct {
	Mu     sync.Mutex
	Events []holdfast.Event
}

// Note is what a Client is given as Options.OnEvent.
func (j *Journal) Note(e holdfast.Event) {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	j.Events = append(j.Events, e)
}

// All is a copy of the events so far.
func (j *Journal) All() []holdfast.Event {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	return append([]holdfast.Event(nil), j.Events...)
}

// EventsOf are the events of one kind.
func EventsOf[E holdfast.Event](j *Journal) (events []E) {
	for _, e := range j.All() {
		if e, ok := e.(E); ok {
			events = append(events, e)
		}
	}
	return events
}

// More waits for n events of one kind from now on, and returns all of it.
func More[E holdfast.Event](t testing.TB, j *Journal, n int) []E {
	t.Helper()
	before := len(EventsOf[E](j))
	var zero E
	for deadline := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		if events := EventsOf[E](j); len(events) >= before+n {
			return events
		}
		if time.Now().After(deadline) {
			all := j.All()
			t.Fatalf("waited in vain for %d events %T; the last were %+v", n, zero, all[max(0, len(all)-10):])
		}
	}
}

// Logbook keeps what a Client logs.
type Logbook struct{ child.Output }

// Logger is what a Client is given as Options.Logger.
func (b *Logbook) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// CloseWell closes a Client and wants no error.
func CloseWell(t *testing.T, client *holdfast.Client) {
	t.Helper()
	if err := client.Close(); err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
}

// HashOf names the tenure that holds a name.
func HashOf(t *testing.T, c *holdfast.Client, name string) string {
	t.Helper()
	state, err := admin.Of(c).Inspect(t.Context(), name)
	if err != nil || state.Holder == nil {
		t.Fatalf("Inspect: got %+v, %v, want a holder", state, err)
	}
	return state.Holder.Hash
}
