//go:build unix

package quorum_test

import (
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The rights that docs/guide/08-operating.md names are enough for the nodes of a quorum,
// and INFO is one of them.
func TestQuorumRights(t *testing.T) {
	t.Parallel()
	var nodes []clienttest.Place
	for range 3 {
		nodes = append(nodes, clienttest.Place{Servers: []*redistest.Server{redistest.Start(t, redistest.Options{})}, Scheme: "redis"})
	}
	open := func(more ...string) (stores []driver.Store, members []quorum.Member) {
		for _, p := range nodes {
			url := p.User(t, append(p.DocumentedRights(t, "app"), more...))
			stores = append(stores, clienttest.OpenStore(t, url, nil))
			members = append(members, quorum.Member{Address: p.Servers[0].Addr(), Store: stores[len(stores)-1]})
		}
		return stores, members
	}
	stores, members := open("+info")
	id, err := quorum.Init(t.Context(), "rights", true, members...)
	if err != nil {
		t.Fatal(err)
	}
	client := holdfast.NewQuorum(id, nil, stores...)
	clienttest.GiveBack(t, clienttest.Take(t, client, "n"))
	if _, err := admin.OfQuorum(client).Inspect(t.Context(), "n"); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	for _, p := range nodes {
		if got := p.Refused(t); len(got) > 0 {
			t.Errorf("refused: %q", got)
		}
	}
	stores, _ = open()
	client = holdfast.NewQuorum(id, nil, stores...)
	defer client.Close()
	if _, err := clienttest.LockIn(t, client, "n", clienttest.Patience); !errors.Is(err, holdfast.ErrQuorum) {
		t.Errorf("without INFO: got %v, want ErrQuorum", err)
	}
}
