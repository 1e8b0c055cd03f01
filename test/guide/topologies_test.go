//go:build unix

package guide_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The code of docs/guide/07-topologies.md.

func allReplicas(store driver.Store) *holdfast.Client {
	client := holdfast.New(store, &holdfast.Options{
		WaitReplicas: 1, // the number of all replicas that could become the master
	})
	return client
}

func startQuorum() *holdfast.QuorumClient {
	node := func(url string) driver.Store { // the node may be down when the program starts
		return driver.Lazy(func() (driver.Store, error) { return rueidisstore.Open(url, nil) })
	}
	client := holdfast.NewQuorum("orders/1/3-5f3a9c0d1e", nil,
		node("redis://a:6379"), node("redis://b:6379"), node("redis://c:6379"))
	return client
}

var _ = startQuorum

// closable is a Store that was opened.
type closable interface {
	driver.Store
	Close() error
}

// drivers open a server by its URL.
var drivers = map[string]func(url string) (closable, error){
	"rueidis":  func(url string) (closable, error) { return rueidisstore.Open(url, nil) },
	"go-redis": func(url string) (closable, error) { return goredisstore.Open(url, nil) },
}

// Managed services take commands away. Here all go that any of them is known to refuse, at one server.
func TestTopologiesWithoutAdminCommands(t *testing.T) {
	var config []string
	for _, command := range []string{
		"ACL", "BGREWRITEAOF", "BGSAVE", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DEBUG", "LASTSAVE", "MIGRATE", "MODULE",
		"MONITOR", "OBJECT", "REPLICAOF", "SAVE", "SHUTDOWN", "SLAVEOF", "SYNC",
	} {
		config = append(config, "rename-command "+command+` ""`)
	}
	server := redistest.Start(t, redistest.Options{Config: config})
	for name, d := range drivers {
		t.Run(name, func(t *testing.T) {
			store, err := d(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			first, second := keep(t, holdfast.New(store, nil)), keep(t, holdfast.New(store, nil))
			for _, check := range doctor.Check(t.Context(), store, nil) {
				if check.State == doctor.Fail || check.State == doctor.Unknown {
					t.Errorf("%s %s: %s", check.State, check.Name, check.Finding)
				}
			}
			lease, err := first.Mutex(name).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			waited := make(chan error, 1)
			go func() {
				lease, err := second.Mutex(name).Lock(t.Context())
				waited <- errors.Join(err, lease.Release())
			}()
			time.Sleep(100 * time.Millisecond)
			if err := errors.Join(lease.Release(), <-waited); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check finds the policy that managed services have by default.
func TestTopologiesFindsEviction(t *testing.T) {
	server := redistest.Start(t, redistest.Options{MaxMemory: "100mb", Config: []string{"maxmemory-policy volatile-lru"}})
	checks := doctor.Check(t.Context(), open(t, server), nil)
	memory := slices.IndexFunc(checks, func(c doctor.Result) bool { return c.Name == "memory" })
	if memory < 0 || checks[memory].State != doctor.Fail {
		t.Errorf("got %+v, want a failure of memory", checks)
	}
}

// With WaitReplicas a lock is refused where no replica confirms it.
func TestTopologiesWaitsForReplicas(t *testing.T) {
	master := redistest.Start(t, redistest.Options{})
	client := keep(t, allReplicas(open(t, master)))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := client.Mutex("a").Lock(ctx); !errors.Is(err, holdfast.ErrReplicas) {
		t.Errorf("without a replica: got %v, want ErrReplicas", err)
	}
	redistest.Replicas(t, master, 1)
	lease, err := client.Mutex("a").Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if lease.Replicas() < 1 {
		t.Errorf("%d replicas have the lease, want 1", lease.Replicas())
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}
