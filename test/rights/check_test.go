//go:build unix

package rights_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// checked is what Check finds, by name.
func checked(t *testing.T, store driver.Store, ttl time.Duration) map[string]doctor.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
	defer cancel()
	all := map[string]doctor.Result{}
	for _, check := range doctor.Check(ctx, store, &doctor.Options{TTL: ttl}) {
		if _, twice := all[check.Name]; twice || check.Finding == "" {
			t.Errorf("a check that was there, or without a finding: %+v", check)
		}
		if check.State != doctor.OK && check.State != doctor.Unknown && check.Consequence == "" {
			t.Errorf("%s is %s and does not say what follows", check.Name, check.State)
		}
		all[check.Name] = check
	}
	return all
}

// found wants one check to have ended so; mend is part of what to do.
func found(t *testing.T, all map[string]doctor.Result, name string, state doctor.State, finding, mend string) {
	t.Helper()
	if got := all[name]; got.State != state || !strings.Contains(got.Finding, finding) || !strings.Contains(got.Fix, mend) {
		t.Errorf("%s: got %+v, want %s, a finding with %q and a mend with %q", name, got, state, finding, mend)
	}
}

// allWell wants every check to be OK, or unknown where that is said.
func allWell(t *testing.T, all map[string]doctor.Result, unknown ...string) {
	t.Helper()
	for _, name := range []string{"server", "rights", "lock", "wait", "list", "memory", "persistence", "replicas", "cluster", "round trip", "clock"} {
		want := doctor.OK
		for _, u := range unknown {
			if u == name {
				want = doctor.Unknown
			}
		}
		if got := all[name]; got.State != want {
			t.Errorf("%s: got %+v, want %s", name, got, want)
		}
	}
}

// The embedded store does what locks need, and has no settings to tell of.
func TestCheckOfTheEmbeddedStore(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	allWell(t, checked(t, store, 0), "rights", "memory", "persistence")
	if got, err := store.Do("KEYS", "*"); err != nil || fmt.Sprint(got) != "[]" {
		t.Errorf("left behind: %v, %v", got, err)
	}
}

// A good server is found good, in each way to run one, and nothing stays behind.
func TestCheckOfGoodServers(t *testing.T) {
	t.Parallel()
	single := redistest.Start(t, redistest.Options{AOF: true})
	nodes := redistest.Cluster(t, 3, 0)
	for _, node := range nodes {
		node.MustDo(t, "CONFIG", "SET", "appendonly", "yes")
	}
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		all := checked(t, d.Open(t, single.URL(), clienttest.Way{}), 0)
		allWell(t, all)
		found(t, all, "server", doctor.OK, ", master", "")
		if got := single.MustDo(t, "KEYS", "*"); got != "" {
			t.Errorf("left behind: %s", got)
		}
		all = checked(t, d.Open(t, clienttest.Cluster(nodes).URL(), clienttest.Way{}), 0)
		allWell(t, all)
		found(t, all, "server", doctor.OK, "of 3 masters", "")
		found(t, all, "cluster", doctor.OK, "16384 of 16384", "")
		for _, node := range nodes {
			if got := node.MustDo(t, "KEYS", "*"); got != "" {
				t.Errorf("left behind: %s", got)
			}
		}
	})
}

// What is wrong with a server's memory, and what follows.
func TestCheckOfMemory(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store := clienttest.OpenStore(t, server.URL(), nil)
	found(t, checked(t, store, 0), "persistence", doctor.Warn, "no append-only file", "appendonly yes")
	for _, step := range []struct {
		policy, limit, name string
		state               doctor.State
		finding, mend       string
	}{
		{"volatile-ttl", "0", "memory", doctor.Warn, "volatile-ttl", "noeviction"},
		{"allkeys-lru", "500mb", "memory", doctor.Fail, "allkeys-lru, maxmemory 500 MiB", "noeviction"},
		{"noeviction", "500mb", "memory", doctor.OK, "noeviction", ""},
		{"noeviction", "1", "lock", doctor.Fail, "OOM command not allowed", ""},
		{"noeviction", "1", "memory", doctor.Warn, "KiB used", "raise maxmemory"},
	} {
		server.MustDo(t, "CONFIG", "SET", "maxmemory-policy", step.policy, "maxmemory", step.limit)
		found(t, checked(t, store, 0), step.name, step.state, step.finding, step.mend)
	}
}

// A replica is no place for locks, and a master says how its replicas are.
func TestCheckOfReplicas(t *testing.T) {
	master := redistest.Start(t, redistest.Options{Config: []string{"repl-diskless-sync-delay 0"}})
	replica := redistest.Start(t, redistest.Options{})
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica.MustDo(t, "REPLICAOF", host, port)
	clienttest.Eventually(t, "the replica is in sync", func() bool {
		return strings.Contains(master.MustDo(t, "INFO", "replication"), "state=online")
	})
	all := checked(t, clienttest.OpenStore(t, replica.URL(), nil), 0)
	found(t, all, "server", doctor.Fail, "a replica", "the address of its master, "+master.Addr())
	found(t, all, "lock", doctor.Fail, "READONLY", "")
	found(t, checked(t, clienttest.OpenStore(t, master.URL(), nil), 0), "replicas", doctor.OK, "1 connected", "")
}

// In a Cluster every master counts, and that every slot is served.
func TestCheckOfAClusterInTrouble(t *testing.T) {
	t.Parallel()
	nodes := redistest.Cluster(t, 3, 0)
	store := clienttest.OpenStore(t, clienttest.Cluster(nodes).URL(), nil)
	nodes[1].MustDo(t, "CONFIG", "SET", "maxmemory-policy", "volatile-lru", "maxmemory", "500mb")
	_, port, _ := strings.Cut(nodes[1].Addr(), ":")
	found(t, checked(t, store, 0), "memory", doctor.Fail, "of 3 masters, the one on port "+port, "noeviction")
	for _, node := range nodes {
		node.MustDo(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	nodes[2].Kill()
	clienttest.Eventually(t, "the slots of the dead master are missed", func() bool {
		info := nodes[0].MustDo(t, "CLUSTER", "INFO") + nodes[1].MustDo(t, "CLUSTER", "INFO")
		return !strings.Contains(info, "cluster_slots_ok:16384")
	})
	clienttest.Eventually(t, "Check says it", func() bool { // when its own name has a master
		all := checked(t, store, time.Second)
		return all["cluster"].State == doctor.Fail && strings.Contains(all["cluster"].Fix, "masters back")
	})
}

// A server that is not there is told in time.
func TestCheckOfAnAbsentServer(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	network := redistest.StartProxy(t, server.Addr())
	store := clienttest.OpenStore(t, "redis://"+network.Addr(), nil)
	for what, how := range map[string]func(){"silent": network.Hold, "refused": network.Refuse} {
		how()
		began := time.Now()
		all := checked(t, store, time.Second)
		if took := time.Since(began); took > clienttest.Slack {
			t.Errorf("%s: Check took %v", what, took)
		}
		found(t, all, "server", doctor.Fail, "no answer", "server runs")
		if len(all) != 1 {
			t.Errorf("%s: got %v, want nothing beyond that there is no answer", what, all)
		}
		network.Pass()
	}
}

// Without the right to publish waiting works, badly; and where INFO is forbidden,
// as it is for the user of docs/guide/08-operating.md, Check says what it does not know.
func TestCheckWithoutRights(t *testing.T) {
	p := clienttest.Place{Servers: []*redistest.Server{redistest.Start(t, redistest.Options{})}, Scheme: "redis"}
	rights := p.DocumentedRights(t, "app")
	allWell(t, checked(t, clienttest.OpenStore(t, p.User(t, rights), nil), 0), "server", "memory", "persistence", "replicas")
	if got := p.Refused(t); len(got) > 0 {
		t.Errorf("Check tries what it knows to be forbidden: %q", got)
	}
	told := checked(t, clienttest.OpenStore(t, p.User(t, append(rights, "+info")), nil), 0)
	found(t, told, "memory", doctor.OK, "noeviction", "")
	found(t, told, "server", doctor.OK, ", master", "")
	all := checked(t, clienttest.OpenStore(t, p.User(t, append(rights, "-publish")), nil), 0)
	found(t, all, "wait", doctor.Warn, "refuses to publish", "+publish")
	found(t, all, "rights", doctor.Warn, "+publish", "ACL SETUSER")
}
