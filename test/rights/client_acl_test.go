//go:build unix

package rights_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// limited starts a server with a user "app" of these rights, and returns its
// address for that user.
func limited(t *testing.T, rights string) (server *redistest.Server, url string) {
	t.Helper()
	server = redistest.Start(t, redistest.Options{ACL: []string{"user app on >pw " + rights}})
	return server, "redis://app:pw@" + server.Addr()
}

// Users have no channel rights unless they are given some. Who may not subscribe
// can't wait in the queue: a lock that has to wait is refused at once, and the error
// names the right.
func TestClientWithoutTheRightToSubscribe(t *testing.T) {
	for what, rights := range map[string]string{
		"no channels":  "~holdfast* resetchannels +@all",
		"no subscribe": "~holdfast* &holdfast/* +@all -subscribe",
	} {
		t.Run(what, func(t *testing.T) {
			_, url := limited(t, rights)
			lease := clienttest.Take(t, clienttest.Open(t, url, holdfast.Options{Owner: "A", TTL: clienttest.Long}), "n")
			other := clienttest.Open(t, url, holdfast.Options{Owner: "B", TTL: clienttest.Long})
			err := clienttest.Asking(t.Context(), other.Mutex("n")).Answer(t).Err
			said, ok := errors.AsType[driver.ServerError](err)
			if !ok || !strings.HasPrefix(string(said), "NOPERM ") || !strings.Contains(err.Error(), "holdfast/push:*") {
				t.Errorf("Lock: got %v, want the server's NOPERM and the channels", err)
			}
			clienttest.GiveBack(t, lease)
			clienttest.GiveBack(t, clienttest.Take(t, other, "n"))
		})
	}
}

// Without the right to publish the lock works by polling, and the log names the
// right that is missing, but not with every look.
func TestClientWithoutTheRightToPublish(t *testing.T) {
	t.Parallel()
	for what, rights := range map[string]string{
		"no publish": "~holdfast* &holdfast/* +@all -publish",
	} {
		t.Run(what, func(t *testing.T) {
			const name = "mute"
			server, url := limited(t, rights)
			var books []*clienttest.Logbook
			var clients []*holdfast.Client
			for _, owner := range []string{"A", "B"} {
				book := &clienttest.Logbook{}
				books = append(books, book)
				clients = append(clients, clienttest.Open(t, url, holdfast.Options{Owner: owner, TTL: clienttest.Long, Logger: book.Logger()}))
			}
			lease := clienttest.Take(t, clients[0], name)
			if _, err := clients[1].Mutex(name).TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("TryLock: got %v, want ErrHeld", err)
			}
			for i := range 4 { // from one to the other and back
				waiting := clienttest.Asking(t.Context(), clients[(i+1)%2].Mutex(name))
				for began := time.Now(); time.Since(began) < time.Second; time.Sleep(10 * time.Millisecond) {
					if !waiting.Pending() {
						t.Fatalf("Lock of a name that is held: got %+v, want it to wait", waiting.Answer(t))
					}
				}
				released := time.Now()
				clienttest.GiveBack(t, lease)
				lease = waiting.Lease(t)
				if got := time.Since(released); got > clienttest.Slack { // it looks several times a second
					t.Errorf("hand-over %d took %v", i, got)
				}
			}
			clienttest.GiveBack(t, lease)
			clienttest.NothingLeftSoon(t, server, name)
			said := books[0].String() + books[1].String()
			if !strings.Contains(said, "holdfast/push:*") || !strings.Contains(said, "NOPERM") && !strings.Contains(said, "The user executing the script can't") {
				t.Errorf("log: got %q, want it to name the missing right, and the server's word", said)
			}
			if got := strings.Count(said, "\n"); got > 10 {
				t.Errorf("log: got %d lines, want a few:\n%s", got, said)
			}
		})
	}
}

// Without the right to run scripts nothing works: the server's own word comes at
// once.
func TestClientWithoutScripts(t *testing.T) {
	server, url := limited(t, "~holdfast* &holdfast/* +@all -evalsha -eval")
	client := clienttest.Open(t, url, holdfast.Options{Owner: "A", TTL: clienttest.Long})
	began := time.Now()
	lock := clienttest.Asking(t.Context(), client.Mutex("n")).Answer(t).Err
	_, try := client.Mutex("n").TryLock(t.Context())
	if got := time.Since(began); got > 5*time.Second { // an outage is waited for longer
		t.Errorf("the errors took %v, want them at once", got)
	}
	for _, err := range []error{lock, try} {
		said, ok := errors.AsType[driver.ServerError](err)
		if want := "NOPERM "; !ok || !strings.HasPrefix(string(said), want) || !strings.Contains(err.Error(), string(said)) {
			t.Errorf("got %v, want the server's %s word for word", err, want)
		}
		if !strings.Contains(string(said), "eval") {
			t.Errorf("got %q, want the command in it", said)
		}
		if errors.Is(err, holdfast.ErrHeld) || errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("got %v, want neither held nor unreachable", err)
		}
	}
	if got := server.MustDo(t, "DBSIZE"); got != "0" {
		t.Errorf("%s keys, want none", got)
	}
}

// A key that the user may not touch is named by the server too.
func TestClientWithoutTheKey(t *testing.T) {
	_, url := limited(t, "~other* &* +@all")
	client := clienttest.Open(t, url, holdfast.Options{Owner: "A", TTL: clienttest.Long})
	_, err := client.Mutex("n").TryLock(t.Context())
	if said, ok := errors.AsType[driver.ServerError](err); !ok || !strings.HasPrefix(string(said), "NOPERM ") {
		t.Errorf("got %v, want NOPERM", err)
	}
}
