//go:build unix

// Package versions_test proves what happens where processes with two versions of the protocol use
// one name: see docs/adr/0043-another-version.md.
package versions_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const (
	mine    = "c.mine.5000|o"
	other   = "d.other.5000|o"
	permit  = "c.mine.5000.s1|o"
	other1  = "d.other.5000.s1|o"
	ofNode  = mine + ":77"
	later   = "v2|c2.n2.5000|o" // of a later version: as a holder and as a waiter
	refused = "version"
)

// planted are the states of a name that a later version has left.
var planted = map[string][][]any{
	"holder": {{"SET", "L", later, "PX", 60_000}, {"SET", "F", "100", "PX", 60_000}},
	"waiter": {{"ZADD", "Q", 1, later}, {"PEXPIRE", "Q", 60_000}, {"SET", "F", "100", "PX", 60_000}},
	"fence":  {{"SET", "F", "v2|100", "PX", 60_000}},
	"kind":   {{"HSET", "L", "kind", "v2|semaphore", "capacity", 1}, {"PEXPIRE", "L", 60_000}},
	"record": {{"SET", "O", "v2|1.2.3", "PX", 60_000}},
	"node":   {{"SET", "L", later + ":77", "PX", 60_000}, {"SET", "N", "d", "PX", 60_000}},
}

// The states in which the script runs that need a holder of this version.
var (
	held    = []any{"SET", "L", mine, "PX", 60_000}
	taken   = []any{"SET", "L", other, "PX", 60_000}
	foreign = []any{"SET", "L", "another program's", "PX", 60_000}
	voted   = []any{"SET", "L", ofNode, "PX", 60_000}
)

// shared is a semaphore of two permits that these ids hold.
func shared(ids ...string) [][]any {
	all := [][]any{{"HSET", "L", "kind", "semaphore", "capacity", 2}, {"PEXPIRE", "L", 60_000}, {"PEXPIRE", "H", 60_000}}
	for _, id := range ids {
		all = append(all, []any{"ZADD", "H", 4503599627370496 + time.Now().Add(time.Minute).UnixMicro(), id})
	}
	return all
}

// meeting is a script that meets what a later version has left.
type meeting struct {
	plant  string
	script *driver.Script
	keys   string // each a letter, see keysOf
	args   []string
	with   [][]any // what else is in Redis
	want   string  // refused, or the word of its answer
}

var meetings = []meeting{
	{"holder", script.Lock, "LFQ", []string{mine}, nil, refused},
	{"holder", script.Lock, "LFQ", []string{mine, "wait"}, nil, refused},
	{"fence", script.Lock, "LFQ", []string{mine}, nil, refused},
	{"fence", script.Lock, "LFQ", []string{mine, "wait"}, nil, refused},
	{"waiter", script.Lock, "LFQ", []string{mine}, nil, refused},
	{"waiter", script.Lock, "LFQ", []string{mine, "wait"}, nil, refused},
	{"waiter", script.Lock, "LFQ", []string{mine, "wait"}, [][]any{taken}, refused},
	{"kind", script.Lock, "LFQ", []string{mine, "wait"}, nil, refused},
	{"holder", script.LockBatch, "LFQ", []string{mine, "5000"}, nil, "again"},
	{"waiter", script.LockBatch, "LFQ", []string{mine, "5000"}, nil, "again"},
	{"waiter", script.LockBatch, "LFQ", []string{mine, ""}, [][]any{held}, "again"},
	{"fence", script.LockBatch, "LFQ", []string{mine, "5000"}, nil, "again"},
	{"holder", script.MultiLock, "LFQ", []string{mine}, nil, "not all"},
	{"waiter", script.MultiLock, "LFQ", []string{mine}, nil, "not all"},
	{"fence", script.MultiLock, "LFQ", []string{mine}, nil, refused},

	{"holder", script.Unlock, "LFQ", []string{mine}, nil, "not held"},
	{"waiter", script.Unlock, "LFQ", []string{mine}, nil, refused},
	{"waiter", script.Unlock, "LFQ", []string{mine}, [][]any{held}, refused},
	{"waiter", script.Unlock, "LFQ", []string{mine, "", "c.new.5000|o"}, [][]any{held}, refused},
	{"fence", script.Unlock, "LFQ", []string{mine, "", "c.new.5000|o"}, [][]any{held}, refused},
	{"holder", script.UnlockKeyOnly, "L", []string{mine}, nil, "dropped"},
	{"holder", script.Cooldown, "LFQ", []string{mine, "60000", "o", "", ""}, nil, "not held"},
	{"waiter", script.Cooldown, "LFQ", []string{mine, "60000", "o", "", "c.new.5000|o"}, [][]any{held}, refused},
	{"holder", script.Cancel, "LFQ", []string{mine, ""}, nil, "cancelled"},
	{"waiter", script.Cancel, "LFQ", []string{mine, ""}, nil, refused},
	{"waiter", script.Cancel, "LFQ", []string{mine, ""}, [][]any{held}, refused},
	{"fence", script.Cancel, "LFQ", []string{mine, ""}, nil, refused},
	{"kind", script.Cancel, "LFQ", []string{mine, ""}, nil, "cancelled"},

	{"holder", script.Renew, "LQRF", []string{mine, "64"}, nil, "lost"},
	{"fence", script.Renew, "LQRF", []string{mine, "64"}, [][]any{held}, refused},
	{"holder", script.RenewKeyOnly, "L", []string{mine}, nil, "lost"},
	{"holder", script.Revoke, "LR", []string{mine, "", "why"}, nil, "not held"},
	{"holder", script.Steal, "LFQR", []string{mine, "", "why"}, nil, "not held"},
	{"waiter", script.Steal, "LFQR", []string{mine, "", "why"}, [][]any{held}, refused},
	{"fence", script.Steal, "LFQR", []string{mine, "", "why"}, [][]any{held}, refused},
	{"holder", script.Take, "LFQR", []string{mine, "", other, "why"}, nil, "not held"},
	{"waiter", script.Take, "LFQR", []string{mine, "", other, "why"}, [][]any{taken}, refused},
	{"fence", script.Take, "LFQR", []string{mine, "", other, "why"}, [][]any{taken}, refused},
	{"holder", script.Adopt, "LFQR", []string{mine, other, "100"}, nil, "lost"},
	{"waiter", script.Adopt, "LFQR", []string{mine, other, "100"}, [][]any{taken}, refused},
	{"fence", script.Adopt, "LFQR", []string{mine, other, "100"}, [][]any{taken}, refused},
	{"holder", script.Exported, "LFQR", []string{mine, "100", "renew"}, nil, "lost"},
	{"fence", script.Exported, "LFQR", []string{mine, "100", "renew"}, [][]any{held}, refused},
	{"holder", script.Repair, "L", []string{"another program's", "5000"}, nil, "unchanged"},
	{"holder", script.ElectionAnnounce, "LT", []string{mine, "100", "look", "", "0", ""}, nil, "announced"},

	{"holder", script.OnceLock, "LFQO", tick, nil, refused},
	{"waiter", script.OnceLock, "LFQO", tick, nil, refused},
	{"fence", script.OnceLock, "LFQO", tick, nil, refused},
	{"record", script.OnceLock, "LFQO", tick, nil, refused},
	{"record", script.OnceBegin, "LO", []string{"100", "o", "5000"}, [][]any{held}, refused},
	{"record", script.OnceEnd, "LO", []string{"100", "done", "5000"}, [][]any{held}, "newer"},

	{"holder", script.SharedLock, "LFQHZ", []string{permit, "2", "try", "0", ""}, nil, refused},
	{"holder", script.SharedLock, "LFQHZ", []string{permit, "2", "wait", "0", ""}, nil, refused},
	{"fence", script.SharedLock, "LFQHZ", []string{permit, "2", "wait", "0", ""}, nil, refused},
	{"kind", script.SharedLock, "LFQHZ", []string{permit, "2", "wait", "0", ""}, nil, refused},
	{"waiter", script.SharedLock, "LFQHZ", []string{permit, "2", "try", "0", ""}, shared(other1), refused},
	{"waiter", script.SharedLock, "LFQHZ", []string{permit, "2", "wait", "0", ""}, shared(other1), refused},
	{"waiter", script.SharedLock, "LFQHZ", []string{permit, "2", "wait", "0", ""}, [][]any{foreign}, refused},
	{"holder", script.SharedUnlock, "LFQH", []string{permit}, nil, "not held"},
	{"waiter", script.SharedUnlock, "LFQH", []string{permit}, shared(permit, other1), refused},
	{"fence", script.SharedUnlock, "LFQH", []string{permit}, shared(permit, other1), refused},
	{"holder", script.SharedUnlockKeyOnly, "H", []string{permit}, nil, "dropped"},
	{"holder", script.SharedRenew, "LFQH", []string{permit, "1"}, nil, "lost"},
	{"fence", script.SharedRenew, "LFQH", []string{permit, "1"}, shared(permit), refused},
	{"holder", script.SharedExported, "LFQHR", []string{permit, "renew"}, nil, "lost"},
	{"fence", script.SharedExported, "LFQHR", []string{permit, "renew"}, shared(permit), refused},
	{"holder", script.SharedRenewKeyOnly, "H", []string{permit}, nil, "lost"},
	{"holder", script.SharedResize, "LFQHZ", []string{"3", ""}, nil, refused},
	{"waiter", script.SharedResize, "LFQHZ", []string{"3", ""}, shared(other1), refused},
	{"fence", script.SharedResize, "LFQHZ", []string{"3", ""}, nil, refused},
	{"kind", script.SharedResize, "LFQHZ", []string{"3", ""}, nil, refused},
	{"holder", script.SharedRevoke, "LHR", []string{permit, "", "why"}, nil, "not held"},
	{"waiter", script.SharedSteal, "LFQHR", []string{permit, "", "why"}, shared(permit), refused},
	{"fence", script.SharedSteal, "LFQHR", []string{permit, "", "why"}, shared(permit), refused},

	{"node", script.QuorumLock, "LFMN", []string{mine, "1000", "q", "500"}, nil, refused},
	{"fence", script.QuorumLock, "LFMN", []string{mine, "1000", "q", "500"}, nil, refused},
	{"node", script.QuorumUnlock, "LN", []string{mine, "50"}, nil, "not held"},
	{"node", script.QuorumRenew, "LFM", []string{mine, "77", "q"}, nil, "lost"},
	{"fence", script.QuorumRenew, "LFM", []string{mine, "77", "q"}, [][]any{voted}, refused},
	{"node", script.QuorumRaise, "LF", []string{mine, "77", "1000"}, nil, "lost"},
	{"fence", script.QuorumRaise, "LF", []string{mine, "77", "1000"}, [][]any{voted}, refused},
	{"node", script.QuorumRepair, "LFM", []string{mine, "77", "q"}, nil, "lost"},
	{"fence", script.QuorumRepair, "LFM", []string{mine, "77", "q"}, nil, refused},
}

// tick asks for the tick at 0 of a schedule whose period began long ago.
var tick = []string{mine, "", "9000000000000000", "0", "0", "run", "o", "5000"}

// beside are the scripts that write nothing of a name that others use: each key is a Client's or a
// job's or a trial's, is only asked about, or is for the holder that passes the check.
var beside = []*driver.Script{script.DetailsNote, script.JobNote, script.JobForget, script.JournalWrite, script.QuorumMark, script.Sweep, script.Check}

// A script that meets another version changes nothing: no value, no score and no expiry. Where it
// would have to write, it says so. Where it only asks about an id of its own, it answers as it does
// when a client of this version has the name.
func TestScriptsMeetALaterVersion(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store := clienttest.OpenStore(t, server.URL(), nil)
	met := map[*driver.Script]bool{}
	for _, m := range meetings {
		met[m.script] = true
		t.Run(fmt.Sprintf("%s %s %s", m.script.Name, m.plant, strings.Join(m.args, " ")), func(t *testing.T) {
			server.MustDo(t, "FLUSHALL")
			ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
			defer cancel()
			if _, err := store.Eval(ctx, driver.Call{Script: script.QuorumMark, Keys: []string{"M"}, Args: []string{"q", "0", ""}}); err != nil {
				t.Fatal(err)
			}
			for _, command := range slices.Concat(planted[m.plant], m.with) {
				server.MustDo(t, command...)
			}
			before := everything(t, server)
			reply, err := store.Eval(ctx, driver.Call{Script: m.script, Keys: strings.Split(m.keys, ""), Args: m.args})
			if got := wordOf(reply, err); got != m.want {
				t.Errorf("got %q (%q, %v), want %q", got, reply, err, m.want)
			}
			if after := everything(t, server); !maps.Equal(before, after) {
				t.Errorf("it changed\n%q\ninto\n%q", before, after)
			}
		})
	}
	for _, f := range script.All() {
		if writes(f.Source) && !met[f.Script] && !slices.Contains(beside, f.Script) {
			t.Errorf("%s writes, and the table does not say what it does when it meets another version", f.Name)
		}
	}
}

// A renewal that reduces a weight cannot hand over to a waiter of another version, and says so. The
// weight is stored by then, so the next renewal is good: the holder of this version goes on.
func TestReducedBesideALaterVersion(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store := clienttest.OpenStore(t, server.URL(), nil)
	const id = "c.mine.5000.s2|o"
	for _, command := range append(planted["waiter"],
		[]any{"HSET", "L", "kind", "semaphore", "capacity", 2}, []any{"ZADD", "H", time.Now().Add(time.Minute).UnixMicro(), id}) {
		server.MustDo(t, command...)
	}
	queue := fmt.Sprint(server.MustDo(t, "ZRANGE", "Q", 0, -1, "WITHSCORES"))
	for i, want := range []string{refused, "renewed"} {
		reply, err := store.Eval(t.Context(), driver.Call{Script: script.SharedRenew, Keys: []string{"L", "F", "Q", "H"}, Args: []string{id, "0", "", "1"}})
		if got := wordOf(reply, err); got != want {
			t.Errorf("renewal %d: got %q (%q, %v), want %s", i+1, got, reply, err, want)
		}
		if light, all := server.MustDo(t, "ZCOUNT", "H", 1<<52, "+inf"), server.MustDo(t, "ZCARD", "H"); fmt.Sprintf("%v %v", light, all) != "1 1" {
			t.Errorf("renewal %d: %v of %v holders have weight 1, want 1 of 1", i+1, light, all)
		}
		if got := fmt.Sprint(server.MustDo(t, "ZRANGE", "Q", 0, -1, "WITHSCORES")); got != queue {
			t.Errorf("renewal %d: the queue is %v, want %v", i+1, got, queue)
		}
	}
}

// wordOf is refused, or the word that an answer begins with.
func wordOf(reply []string, err error) string {
	if said, ok := wire.AsServerError(err); ok && errors.Is(wire.Explain(said, "L"), wire.ErrVersion) {
		if !wire.Unwritten(err) || wire.Transient(err) {
			return "an error after which the client asks again"
		}
		return refused
	}
	if err != nil {
		return err.Error()
	}
	if a, err := wire.DecodeAnswer(reply); errors.Is(err, wire.ErrVersion) {
		return refused
	} else if err == nil {
		return a.Word.String()
	}
	return reply[0]
}

// writes reports whether a script may write.
func writes(source string) bool {
	return slices.ContainsFunc([]string{"SET'", "DEL'", "PEXPIRE'", "ZADD'", "ZREM'", "UNLINK'", "XADD'"}, func(end string) bool {
		return strings.Contains(source, end)
	})
}

// everything is each key with its value and its expiry.
func everything(t *testing.T, server *redistest.Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range strings.Fields(server.MustDo(t, "KEYS", "*")) {
		all[key] = server.MustDo(t, "DUMP", key) + server.MustDo(t, "PEXPIRETIME", key)
	}
	return all
}
