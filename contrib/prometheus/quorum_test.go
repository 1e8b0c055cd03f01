package holdfastprom_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
)

// On a quorum what is held and waited for is counted as anywhere, who waits always finds
// the name by looking, each store has its own label, and the inventory is there.
func TestQuorum(t *testing.T) {
	var members []quorum.Member
	for i := range 3 {
		members = append(members, quorum.Member{Address: fmt.Sprint("node", i), Store: embed(t)})
	}
	id, err := quorum.Init(t.Context(), "q", true, members...)
	if err != nil {
		t.Fatal(err)
	}
	process := func() (*holdfastprom.Metrics, *holdfast.QuorumClient) {
		m := holdfastprom.New(nil)
		var stores []driver.Store
		for _, member := range members {
			stores = append(stores, m.Store(member.Store, member.Address))
		}
		client := holdfast.NewQuorum(id, &holdfast.QuorumOptions{TTL: time.Minute, OnEvent: m.OnEvent}, stores...)
		t.Cleanup(func() { client.Close() })
		m.WatchQuorum(client)
		return m, client
	}
	ma, a := process()
	mb, b := process()
	first := lock(t, a, "n")
	came := make(chan *holdfast.Lease)
	go func() {
		lease, err := b.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Error(err)
		}
		came <- lease
	}()
	shows(t, ma, map[string]float64{"holdfast_held{all}": 1, "holdfast_granted_total{all,answer}": 1})
	shows(t, mb, map[string]float64{"holdfast_held{all}": 0, "holdfast_waiting{all}": 1})
	shows(t, holdfastprom.NewInventory(admin.OfQuorum(a), &holdfastprom.InventoryOptions{Wait: patience}), map[string]float64{
		"holdfast_inventory_up": 1, "holdfast_inventory_held{mutex}": 1, "holdfast_inventory_waiting{mutex}": 0,
	})
	for end := time.Now().Add(patience); scrape(t, mb)["holdfast_polls_total{all}"] == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("who waits does not look")
		}
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	defer (<-came).Release() //nolint:errcheck // it is over
	shows(t, mb, map[string]float64{"holdfast_held{all}": 1, "holdfast_granted_total{all,poll}": 1, "holdfast_granted_total{all,push}": 0})
	for _, member := range members {
		if n := scrape(t, mb)["holdfast_store_seconds{eval,"+member.Address+"}"]; n == 0 {
			t.Errorf("calls of %s: got none", member.Address)
		}
	}
}

// A program may keep only a Mutex and its leases: the client of a quorum lives on with them,
// and so do its figures.
func TestWatchedQuorumLivesWithItsLeases(t *testing.T) {
	var members []quorum.Member
	var stores []driver.Store
	for i := range 3 {
		store := embed(t)
		members, stores = append(members, quorum.Member{Address: fmt.Sprint("node", i), Store: store}), append(stores, store)
	}
	id, err := quorum.Init(t.Context(), "q", true, members...)
	if err != nil {
		t.Fatal(err)
	}
	m := holdfastprom.New(nil)
	lease := func() *holdfast.Lease {
		client := holdfast.NewQuorum(id, &holdfast.QuorumOptions{TTL: time.Minute}, stores...)
		m.WatchQuorum(client)
		return lock(t, client, "n")
	}()
	for range 3 {
		runtime.GC()
	}
	shows(t, m, map[string]float64{"holdfast_held{all}": 1})
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}
