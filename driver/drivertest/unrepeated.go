package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// passing are server errors after which a client library may send a call again. After READONLY and
// MASTERDOWN a driver may do that, too: a call that a replica refused has written nothing.
var passing = []string{
	"LOADING Redis is loading the dataset in memory",
	"CLUSTERDOWN The cluster is down",
	"TRYAGAIN Multiple keys request during rehashing of slot",
}

// unrepeated: where the store promises that each call runs at most once, a call runs once also
// if its answer is an error that passes, and Release returns ErrLost for a lock that
// was deleted. Without the promise Release proves nothing and returns nil.
func unrepeated(t *testing.T, s suite) {
	store, key := s.open(t), s.prefix+"runs"
	set := driver.NewScript("count", `
		redis.call('SET', KEYS[1], 1 + (redis.call('GET', KEYS[1]) or 0), 'PX', 600000)
		return redis.error_reply(ARGV[1])`)
	runs := func() string {
		reply, err := store.Eval(bounded(t), driver.Call{Script: driver.NewScript("runs",
			"local n = redis.call('GET', KEYS[1]) redis.call('DEL', KEYS[1]) return n"), Keys: []string{key}})
		if err != nil || len(reply) != 1 {
			t.Fatalf("runs: got %q, %v", reply, err)
		}
		return reply[0]
	}
	release := releaseDeleted(t, s, store)
	u, ok := store.(driver.SendsOnce) // a store that connects when it is used does not know before
	if !ok || !u.SendsOnce() {
		if release != nil {
			t.Errorf("Release of a deleted lock: got %v, want nil, because the store may repeat calls", release)
		}
		return
	}
	if !errors.Is(release, holdfast.ErrLost) {
		t.Errorf("Release of a deleted lock: got %v, want ErrLost", release)
	}
	for _, text := range passing {
		call := driver.Call{Script: set, Keys: []string{key}, Args: []string{text}}
		if _, err := store.Eval(bounded(t), call); err == nil {
			t.Errorf("Eval: got nil, want the error %s", text)
		}
		if got := runs(); got != "1" {
			t.Errorf("Eval ran %s times behind %s; the store promises that it is once", got, text)
		}
		for _, r := range store.EvalAll(bounded(t), []driver.Call{call, call}) {
			if r.Err == nil {
				t.Errorf("EvalAll: got nil, want the error %s", text)
			}
		}
		if got := runs(); got != "2" {
			t.Errorf("EvalAll of two calls ran %s behind %s; the store promises that it is once each", got, text)
		}
	}
}

// releaseDeleted is what Release returns for a lock that was deleted behind its holder's back.
func releaseDeleted(t *testing.T, s suite, store driver.Store) error {
	t.Helper()
	c := holdfast.New(store, &holdfast.Options{Prefix: s.prefix, TTL: time.Minute})
	defer c.Close()
	lease := lock(t, c.Mutex("deleted"))
	del := driver.NewScript("del", "return redis.call('DEL', KEYS[1])")
	if reply, err := store.Eval(bounded(t), driver.Call{Script: del, Keys: []string{s.prefix + "deleted"}}); err != nil || len(reply) != 1 || reply[0] != "1" {
		t.Fatalf("DEL: got %q, %v, want one key", reply, err)
	}
	return lease.Release()
}
