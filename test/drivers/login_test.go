package drivers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// While a password rotates, the server may refuse a login before the program knows the new password.
// No call was answered then, so this is an outage: waiters and leases go on.
func TestDriversRefusedLoginIsAnOutage(t *testing.T) {
	t.Parallel()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		for refusal, change := range map[string][2][]any{
			"WRONGPASS": {{"ACL", "SETUSER", "app", "resetpass", ">other"}, {"ACL", "SETUSER", "app", "resetpass", ">pw"}},
			"NOAUTH":    {{"ACL", "SETUSER", "default", "resetpass", ">other"}, {"ACL", "SETUSER", "default", "nopass"}},
		} {
			t.Run(refusal, func(t *testing.T) {
				server := redistest.Start(t, redistest.Options{ACL: []string{"user app on >pw ~* &* +@all", "user default on nopass ~* &* +@all"}})
				url := server.URL()
				if refusal == "WRONGPASS" {
					url = "redis://app:pw@" + server.Addr()
				}
				store := d.Open(t, url, clienttest.Way{})
				client := holdfast.New(store, nil)
				t.Cleanup(func() { _ = client.Close() })
				held := clienttest.Take(t, client, "held")
				wants := clienttest.Asking(t.Context(), client.Mutex("held"))

				server.MustDo(t, change[0]...)
				server.MustDo(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
				server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
				call := driver.Call{Script: clienttest.Lua("return 1")}
				clienttest.Eventually(t, "the login is refused", func() bool {
					_, err := store.Eval(t.Context(), call)
					if said, ok := errors.AsType[driver.ServerError](err); ok {
						t.Fatalf("got the answer %q, want an error that is none", said)
					}
					return err != nil && strings.Contains(err.Error(), refusal)
				})
				if _, err := store.Subscribe(t.Context(), "c", func(string) {}); err == nil {
					t.Error("subscribed without a login")
				} else if said, ok := errors.AsType[driver.ServerError](err); ok {
					t.Errorf("Subscribe: got the answer %q, want an error that is none", said)
				}
				early := clienttest.Asking(t.Context(), client.Mutex("early"))
				time.Sleep(200 * time.Millisecond)
				if !early.Pending() || !wants.Pending() {
					t.Error("a waiter ended because the login was refused")
				}
				server.MustDo(t, change[1]...)
				clienttest.GiveBack(t, early.Lease(t))
				if err := held.Err(); err != nil {
					t.Errorf("the held lease: %v", err)
				}
				clienttest.GiveBack(t, held)
				clienttest.GiveBack(t, wants.Lease(t))
			})
		}
	})
}
