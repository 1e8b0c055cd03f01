//go:build unix

package client_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// collected collects garbage until something is so.
func collected(t *testing.T, what string, ok func() bool) {
	t.Helper()
	clienttest.Eventually(t, what, func() bool {
		runtime.GC()
		return ok()
	})
}

// dropper makes Clients that nobody but the test's own functions refers to.
type dropper struct {
	book  *clienttest.Logbook
	store driver.Store
}

func newDropper(t *testing.T, server *redistest.Server) dropper {
	t.Helper()
	store := clienttest.OpenStore(t, server.URL(), nil)
	clienttest.Subscribe(t, store, "warm", func(string) {}).Close()
	clienttest.Eval(t, store, "return 1")
	return dropper{&clienttest.Logbook{}, store}
}

func (d dropper) client() *holdfast.Client {
	return holdfast.New(d.store, &holdfast.Options{
		Owner: "A", TTL: clienttest.Long, Linger: clienttest.Long, Logger: d.book.Logger(), OnEvent: func(holdfast.Event) {},
	})
}

const droppedWithoutClose = "dropped without Close"

// A Client that is dropped while a tenure lingers closes itself: the name is
// free, its goroutines end, and the log says what happened.
func TestClientDroppedWhileItLingers(t *testing.T) {
	const name = "dropped-idle"
	server := redistest.Start(t, redistest.Options{})
	d := newDropper(t, server)
	before := runtime.NumGoroutine()
	func() {
		clienttest.GiveBack(t, clienttest.Take(t, d.client(), name))
		if clienttest.Gone(t, server, name) {
			t.Fatal("the tenure does not linger")
		}
	}()
	collected(t, "the name is free", func() bool { return clienttest.Gone(t, server, name) })
	collected(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	if got := d.book.String(); strings.Count(got, droppedWithoutClose) != 1 || !strings.Contains(got, "level=WARN") {
		t.Errorf("log: got %q, want a warning that it was %s", got, droppedWithoutClose)
	}
}

// So does one that is dropped together with a lease that nobody released.
func TestClientDroppedWithItsLease(t *testing.T) {
	const name = "dropped-held"
	server := redistest.Start(t, redistest.Options{})
	d := newDropper(t, server)
	before := runtime.NumGoroutine()
	func() {
		lease := clienttest.Take(t, d.client(), name)
		_ = lease.Context(t.Context())
	}()
	collected(t, "the name is free", func() bool { return clienttest.Gone(t, server, name) })
	collected(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	if got := d.book.String(); strings.Count(got, droppedWithoutClose) != 1 {
		t.Errorf("log: got %q, want a warning that it was %s", got, droppedWithoutClose)
	}
}

// A lease keeps its Client alive, and so does somebody who waits.
func TestClientInUseIsNotCollected(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	d := newDropper(t, server)
	other := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long})
	blocker := clienttest.Take(t, other, "waited-for")
	lease := func() *holdfast.Lease { return clienttest.Take(t, d.client(), "used") }()
	waiting := func() clienttest.Asked { return clienttest.Asking(t.Context(), d.client().Mutex("waited-for")) }()
	clienttest.InQueue(t, server, "waited-for", "A")

	for range 20 {
		runtime.GC()
		if err := lease.Err(); err != nil {
			t.Fatalf("the lease ended: %v", err)
		}
		if got := clienttest.Holder(t, server, "used"); got != "A" {
			t.Fatalf("used is held by %q, want A", got)
		}
		if !waiting.Pending() {
			t.Fatal("the waiting call has returned")
		}
	}
	clienttest.GiveBack(t, blocker)
	granted := waiting.Lease(t)
	for range 20 {
		runtime.GC()
		if err := granted.Err(); err != nil {
			t.Fatalf("the lease that was waited for ended: %v", err)
		}
	}
	clienttest.GiveBack(t, granted)
	clienttest.GiveBack(t, lease)
	if got := d.book.String(); got != "" {
		t.Errorf("log: got %q, want none while the clients are used", got)
	}
}

// A Client that was closed is dropped without a word.
func TestClientDroppedAfterClose(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	d := newDropper(t, server)
	before := runtime.NumGoroutine()
	func() {
		client := d.client()
		clienttest.Take(t, client, "closed")
		if err := client.Close(); err != nil {
			t.Errorf("close: got %v, want nil", err)
		}
	}()
	collected(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	for range 10 {
		runtime.GC()
	}
	if got := d.book.String(); got != "" {
		t.Errorf("log: got %q, want nothing", got)
	}
}
