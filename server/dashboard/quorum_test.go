package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// A dashboard of a quorum shows who holds what, and says of what no node keeps that it is
// not known, instead of showing nothing; nobody is offered what a quorum refuses.
func TestQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, nodes := openQuorum(t, &dashboard.Options{Authorize: dashboard.AllowAll})
		lease := b.hold("invoice:42")
		noLine := "A quorum has no queue"
		for path, want := range map[string][]string{
			"/":                     {noLine, "invoice:42", "Held the longest"},
			"/locks":                {noLine, "invoice:42", "alice", "ttl-bar"},
			"/locks?sort=waiting":   {"invoice:42"},
			"/lock?name=invoice:42": {noLine, "alice", "can't be revoked or stolen"},
			"/processes":            {noLine, "invoice:42", "alice"},
			"/problems":             {"No problems"},
			"/events":               {noLine},
			"/elections":            {"does not announce terms"},
			"/jobs":                 {"There is no record of jobs"},
			"/redis":                {"holdfast quorum status", "demo/1/3"},
		} {
			body := b.shows(path, want...)
			for _, not := range []string{"No waiters", "Waits for", ">Waiting<", "no waits in five minutes", "every queue moves", "No election has a leader", "<form method=\"post\""} {
				if strings.Contains(body, not) {
					t.Errorf("GET %s says %q of a quorum, which does not know that", path, not)
				}
			}
		}
		s, err := b.names.Inspect(t.Context(), "invoice:42")
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"name": {"invoice:42"}, "tenure": {s.Holder.Hash}, "confirm": {"invoice:42"}, "reason": {"x"}}
		if status, body := b.post("/lock/revoke", form, nil); status != http.StatusUnprocessableEntity || !strings.Contains(body, "be revoked or stolen") {
			t.Errorf("revoke: got %d and\n%s\nwant 422 and why", status, body)
		}
		if err := lease.EnsureHeld(t.Context()); err != nil {
			t.Error(err)
		}
		if err := nodes[2].Close(); err != nil {
			t.Fatal(err)
		}
		b.hold("report:7")
		if body := b.shows("/locks", "report:7", "invoice:42"); strings.Contains(body, "The newest poll of Redis failed") {
			t.Error("with one node of three gone the page says that the poll failed")
		}
		if err := nodes[1].Close(); err != nil {
			t.Fatal(err)
		}
		b.shows("/locks", "The newest poll of Redis failed", "report:7", "invoice:42")
	})
}

// openQuorum is open for a quorum of three; client locks on it.
func openQuorum(t *testing.T, options *dashboard.Options) (*board, []*embedded.Store) {
	t.Helper()
	var nodes []*embedded.Store
	var stores []driver.Store
	var members []quorum.Member
	for i := range 3 {
		store := newStore(t)
		nodes, stores = append(nodes, store), append(stores, store)
		members = append(members, quorum.Member{Address: fmt.Sprintf("node-%d:6379", i), Store: store})
	}
	id, err := quorum.Init(t.Context(), "demo", true, members...)
	if err != nil {
		t.Fatal(err)
	}
	client := func(owner string) *holdfast.QuorumClient {
		c := holdfast.NewQuorum(id, &holdfast.QuorumOptions{Owner: owner}, stores...)
		t.Cleanup(func() { c.Close() })
		return c
	}
	b := &board{t: t, store: nodes[0], client: client("alice"), names: admin.NewQuorum(id, nil, stores...)}
	b.serve(b.names, options)
	return b, nodes
}
