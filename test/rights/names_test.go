//go:build unix

package rights_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
)

// What docs/guide/08-operating.md says of a user of some names is enough to hold one for longer
// than its ttl and to look at it; of orders and terms such a user sees what it may.
func TestRightsOfSomeNames(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile("For some names only, replace both key patterns by `([^`]+)`").FindStringSubmatch(clienttest.Operating(t))
	if found == nil {
		t.Fatal("docs/guide/08-operating.md does not say what a user of some names needs")
	}
	book := &clienttest.Logbook{}
	server, url := limited(t, found[1]+" &holdfast/push:* +@all")
	client := clienttest.Open(t, url, holdfast.Options{Owner: "A", TTL: 3 * time.Second, Logger: book.Logger(), Details: &holdfast.Details{User: "alice"}})
	lease := clienttest.Take(t, client, "web:1")
	time.Sleep(7 * time.Second)
	if err := lease.Err(); err != nil {
		t.Fatalf("after two ttls: %v", err)
	}
	state, err := admin.Of(client).Inspect(t.Context(), "web:1")
	if err != nil || state.Holder == nil || state.Holder.Details != nil {
		t.Fatalf("got %+v, %v, want a holder without details", state, err)
	}
	if state.Unreadable == nil || !strings.Contains(state.Unreadable.Error(), "NOPERM") {
		t.Errorf("what is not seen: got %v, want that the server refuses the term", state.Unreadable)
	}
	if got := strings.Count(book.String(), "could not write Options.Details"); got != 1 {
		t.Errorf("the log has %d lines about details, want 1:\n%s", got, book)
	}
	clienttest.GiveBack(t, lease)
	if got := server.MustDo(t, "EXISTS", clienttest.LockKey("web:1")); got != "0" {
		t.Errorf("after the release L exists: %s", got)
	}
}
