package redistest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestCluster(t *testing.T) {
	nodes := redistest.Cluster(t, 3, 1)
	if got, want := len(nodes), 6; got != want {
		t.Fatalf("nodes: got %d, want %d", got, want)
	}
	// Every key has exactly one master that takes it.
	for _, key := range []string{"a", "b", "c", "d", "{a}x"} {
		var took []string
		for _, node := range nodes {
			_, err := node.Do("SET", key, 1)
			switch {
			case err == nil:
				took = append(took, node.Addr())
			case !strings.HasPrefix(err.Error(), "MOVED "):
				t.Errorf("SET %s on %s: %v", key, node.Addr(), err)
			}
		}
		if len(took) != 1 {
			t.Errorf("%s was taken by %v, want one node", key, took)
		}
	}
	for _, node := range nodes[:3] {
		if got := node.MustDo(t, "ROLE"); !strings.HasPrefix(got, "master\n") {
			t.Errorf("%s stands among the masters, ROLE says %q", node.Addr(), got)
		}
	}
}

func TestSentinelFailsOver(t *testing.T) {
	g := redistest.Sentinel(t, 2)
	master := func() string {
		addr := g.Sentinels[0].MustDo(t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redistest.SentinelMaster)
		return strings.Replace(addr, "\n", ":", 1)
	}
	if got, want := master(), g.Master.Addr(); got != want {
		t.Fatalf("master: got %s, want %s", got, want)
	}
	g.Master.Kill()
	end := time.Now().Add(30 * time.Second)
	for master() == g.Master.Addr() {
		if time.Now().After(end) {
			t.Fatal("no failover in 30 s")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
