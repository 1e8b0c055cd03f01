//go:build unix

package client_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Names and details lie in all slots of a Cluster, and both drivers find them.
func TestSurveyOfACluster(t *testing.T) {
	t.Parallel()
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	const names = 60
	for i, d := range clienttest.Drivers {
		client := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{
			Owner: fmt.Sprint("C", i), TTL: clienttest.Long, Details: &holdfast.Details{User: fmt.Sprint("user", i)},
		})
		t.Cleanup(func() { _ = client.Close() })
		for n := range names {
			clienttest.Take(t, client, fmt.Sprintf("n%d-%d", i, n))
		}
	}
	for _, client := range nodes.Clients(t, 0, "A", "B") {
		clienttest.Eventually(t, "all names are seen with details", func() bool {
			s, err := admin.Of(client).Survey(t.Context(), "n", 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := diagnose.Survey(s, nil).Counts.Held, names*len(clienttest.Drivers); got != want || len(s.Names) != want {
				t.Fatalf("got %d held of %d names, want %d", got, len(s.Names), want)
			}
			for _, n := range s.Names {
				if d := n.Holder.Details; d == nil || d.User != "user"+n.Name[1:2] {
					return false
				}
			}
			return true
		})
	}
}

// A quorum's names are surveyed with a node down, too.
func TestSurveyOfAQuorum(t *testing.T) {
	t.Parallel()
	d := clienttest.Deploy(t, 3)
	a := d.Client(holdfast.QuorumOptions{Owner: "me:1"})
	d.Servers[2].Kill()
	for i := range 40 {
		lease, err := clienttest.LockIn(t, a, fmt.Sprintf("q%02d", i), clienttest.Patience)
		if err != nil {
			t.Fatal(err)
		}
		defer clienttest.GiveBack(t, lease)
	}
	s, err := admin.OfQuorum(a).Survey(t.Context(), "q", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := diagnose.Survey(s, nil).Counts; got.Held != 40 || got.Codes[diagnose.HeldHealthy] != 40 {
		t.Errorf("got %+v, want 40 held and healthy", got)
	}
}
