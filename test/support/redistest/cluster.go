package redistest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Cluster runs a Redis Cluster for the length of a test: masters of them (three
// at least), each with so many replicas. It returns once every node sees all
// slots served. The masters come first. config are more lines of redis.conf.
func Cluster(t testing.TB, masters, replicas int, config ...string) []*Server {
	t.Helper()
	nodes := make([]*Server, masters*(1+replicas))
	for i := range nodes {
		nodes[i] = Start(t, Options{Config: append([]string{
			"cluster-enabled yes",
			"cluster-node-timeout 1000",
			"repl-diskless-sync-delay 0",
		}, config...)})
	}
	args := []string{"--cluster", "create"}
	for _, node := range nodes {
		args = append(args, node.Addr())
	}
	args = append(args, "--cluster-replicas", fmt.Sprint(replicas), "--cluster-yes")
	if out, err := exec.Command("redis-cli", args...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	ClusterWhole(t, nodes, masters*replicas)
	return nodes
}

// ClusterWhole waits until every node sees all the others, all slots served, and
// so many replicas, and these are in sync.
func ClusterWhole(t testing.TB, nodes []*Server, replicas int) {
	t.Helper()
	for _, node := range nodes {
		await(t, "the cluster is whole seen from "+node.Addr(), func() bool {
			info, err := node.Do("CLUSTER", "INFO")
			list, listErr := node.Do("CLUSTER", "NODES")
			link, linkErr := node.Do("INFO", "replication")
			return err == nil && listErr == nil && linkErr == nil &&
				field(info, "cluster_state") == "ok" &&
				strings.Count(list, " connected") == len(nodes) &&
				strings.Count(list, "slave ") == replicas &&
				!strings.Contains(list, "fail") &&
				field(link, "master_link_status") != "down"
		})
	}
}

// await polls until the condition holds, and fails the test when it does not
// within the time a slow machine may need.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		if condition() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited %s in vain until %s", startTimeout, what)
}
