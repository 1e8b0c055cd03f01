package doctor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// checkServer says what kind of server it is, and whether it takes writes.
func checkServer(s server) Result {
	version, role := s.info["redis_version"], s.info["role"]
	if version == "" && role == "" {
		return unsaid("server", "its version and role")
	}
	product := "redis "
	if v := s.info["valkey_version"]; v != "" {
		product, version = "valkey ", v
	}
	check := Result{Name: "server", State: OK, Finding: product + version}
	if role != "" {
		check.Finding += ", " + role
	}
	if role == "slave" {
		check.State = Fail
		check.Finding = product + version + ", a replica"
		check.Consequence = "a replica grants no locks; a writable replica loses them"
		check.Fix = useMasterOf(s)
	}
	return check
}

// checkRights says which commands the server would refuse.
func checkRights(s server) Result {
	check := Result{Name: "rights", State: OK, Finding: "all required rights"}
	switch {
	case !s.rights:
		check.State = Unknown
		check.Finding = "this server cannot list the user's rights: only the commands tried here are known"
	case len(s.lacking) > 0:
		check.State = Warn
		check.Finding = "missing: " + lackingRights(s.lacking)
		check.Consequence = "without scan names cannot be listed, without publish waiters poll several times a second"
		check.Fix = "grant the missing rights with ACL SETUSER"
		for _, command := range s.lacking {
			if command != "scan" && !strings.HasSuffix(command, "publish") {
				check.State = Fail
				check.Consequence = "calls that need these rights fail"
			}
		}
	}
	return check
}

// lackingRights names rights. A right to publish or subscribe may be missing for the command or
// for the channels.
func lackingRights(commands []string) string {
	var rights []string
	channels := false
	for _, command := range commands {
		rights = append(rights, wire.CommandRights([]string{command}))
		channels = channels || strings.HasSuffix(command, "publish") || strings.HasSuffix(command, "subscribe")
	}
	text := strings.Join(rights, " ")
	if channels {
		text += ", or the channels &" + keyspace.Channels
	}
	return text
}

// checkMemory looks for eviction: every key of ours has an expiry, and most will
// not be looked at for a while, so they go first.
func checkMemory(s server) Result {
	policy, limit := s.info["maxmemory_policy"], number(s.info["maxmemory"])
	if policy == "" {
		return unsaid("memory", "its maxmemory-policy")
	}
	check := Result{Name: "memory", State: OK, Finding: "maxmemory-policy " + policy}
	const mend = "CONFIG SET maxmemory-policy noeviction, and set it in the configuration file; use another server for a cache"
	switch used := number(s.info["used_memory"]); {
	case policy != "noeviction" && limit > 0:
		check.State = Fail
		check.Finding += fmt.Sprintf(", maxmemory %d MiB", limit>>20)
		check.Consequence = "when memory is full the server deletes held locks and fencing tokens: two holders at a time, until the first one renews"
		check.Fix = mend
	case policy != "noeviction":
		check.State = Warn
		check.Finding += ", no maxmemory yet"
		check.Consequence = "if a maxmemory is set later, the server deletes held locks when memory is full"
		check.Fix = mend
	case limit > 0 && used > limit/10*9:
		check.State = Warn
		check.Finding += ", " + usedOf(used, limit) + " used"
		check.Consequence = "when memory is full, held names can be renewed and released, but no new lock is granted (OOM)"
		check.Fix = "raise maxmemory, or delete keys"
	case limit == 0:
		check.Finding += ", no maxmemory"
	}
	return check
}

// usedOf is "90 of 100 KiB", or in MiB if the limit is large.
func usedOf(used, limit int64) string {
	if limit < 10<<20 {
		return fmt.Sprintf("%d of %d KiB", used>>10, limit>>10)
	}
	return fmt.Sprintf("%d of %d MiB", used>>20, limit>>20)
}

// checkPersistence says what a restart forgets.
func checkPersistence(s server) Result {
	aof, ok := s.info["aof_enabled"]
	if !ok {
		return unsaid("persistence", "whether it keeps its data")
	}
	check := Result{Name: "persistence", State: OK, Finding: "append-only file", Consequence: "a crash of the server's machine loses the writes that were not synced, with appendfsync everysec the last second; a killed server loses up to two seconds if its disk is busy"}
	switch {
	case aof == "1" && s.info["aof_last_write_status"] == "err":
		check.State = Fail
		check.Finding = "the append-only file cannot be written"
		check.Consequence = "the server refuses writes (MISCONF): no name can be locked or renewed"
		check.Fix = "read the server's log; most often the disk is full"
	case s.info["rdb_last_bgsave_status"] == "err":
		check.State = Warn
		check.Finding = "the last snapshot failed"
		check.Consequence = "with stop-writes-on-bgsave-error, the default, the server refuses writes (MISCONF)"
		check.Fix = "read the server's log; most often disk or memory is full"
	case aof != "1":
		check.State = Warn
		check.Finding = "no append-only file"
		check.Consequence = "a restart loses all locks: two holders at a time, until the first one renews. Tokens keep rising"
		check.Fix = "set appendonly yes; or do not restart the server within a TTL, and let resources check the fencing token"
		if number(s.info["connected_slaves"]) > 0 {
			check.Consequence += ". A master that restarts empty also empties its replicas"
		}
	}
	return check
}

// checkReplicas says what a failover forgets.
func checkReplicas(s server) Result {
	text, ok := s.info["connected_slaves"]
	if !ok {
		return unsaid("replicas", "whether it has replicas")
	}
	n := number(text)
	check := Result{Name: "replicas", State: OK, Finding: fmt.Sprintf("%d connected", n), Consequence: "a failover loses the writes that no replica has yet, the last milliseconds: two holders at a time, until the first one renews"}
	if n == 0 {
		check.Finding, check.Consequence = "none", "while this server is down no name can be locked"
		return check
	}
	for i := range n {
		replica := strings.ReplaceAll(s.info["slave"+strconv.FormatInt(i, 10)], ",", "\n")
		about := fields(strings.ReplaceAll(replica, "=", ":"))
		if about["state"] != "online" || number(about["lag"]) > 10 {
			check.State = Warn
			check.Finding = fmt.Sprintf("%d connected, one is %s and %s s behind", n, cmp.Or(about["state"], "not known"), cmp.Or(about["lag"], "?"))
			check.Consequence = "a failover to that replica loses the newest grants"
			check.Fix = "read the replica's log, and check the network between the two"
		}
	}
	return check
}

// checkCluster says whether every name has a master.
func checkCluster(s server, sharded bool) Result {
	check := Result{Name: "cluster", State: OK, Finding: "not a Cluster"}
	if !sharded {
		if s.info["cluster_enabled"] == "1" {
			check.State = Fail
			check.Finding = "the server is part of a Cluster, but the client is one for a single server"
			check.Consequence = "names in the slots of other masters fail (MOVED)"
			check.Fix = "use a cluster client: the drivers make one from cluster://host:port"
		}
		return check
	}
	state, covered := s.cluster["cluster_state"], s.cluster["cluster_slots_ok"]
	if state == "" {
		return Result{Name: "cluster", State: Unknown, Finding: "the server does not show which slots are served", Fix: "check once as a user with +cluster|info"}
	}
	check.Finding = fmt.Sprintf("state %s, %s of 16384 slots served", state, covered)
	if state != "ok" || covered != "16384" {
		check.State = Fail
		check.Consequence = "names in the other slots cannot be locked (CLUSTERDOWN)"
		check.Fix = "bring the missing masters back, or run redis-cli --cluster fix"
	}
	return check
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
