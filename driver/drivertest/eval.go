package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// eval: a script of the user runs behind the check of the lease, with its own keys and arguments, and its
// answer is not changed. It does not run when the lease is over or another client has the name.
func eval(t *testing.T, s suite) {
	first, second := s.client(t, 0), s.client(t, 0)
	lease := lock(t, first.Mutex("eval"))
	key := s.prefix + "stock:{" + s.prefix + "eval}" // of the lock's slot, in a Cluster
	run := func(lease *holdfast.Lease, script string, args ...string) ([]string, error) {
		return lease.Eval(bounded(t), script, []string{key}, args)
	}
	const set = "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000) -- kept"
	if _, err := run(lease, set, "41"); err != nil {
		t.Fatalf("Eval of a held lease: %v", err)
	}
	got, err := run(lease, "return {#KEYS, #ARGV, ARGV[2], redis.call('GET', KEYS[1]) + 1}", "a", "b c")
	if want := []string{"1", "2", "b c", "42"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Eval: got %q, %v, want %q", got, err, want)
	}
	_, err = run(lease, "return redis.error_reply('SOLD out')")
	if want := driver.ServerError("SOLD out"); !errors.Is(err, want) {
		t.Errorf("Eval of a script that returns an error: got %v, want %v", err, want)
	}
	release(t, lease)
	if _, err := run(lease, set, "13"); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("Eval after Release: got %v, want ErrReleased", err)
	}

	lease = lock(t, second.Mutex("eval"))
	gone := driver.Call{Script: driver.NewScript("del", "return redis.call('DEL', KEYS[1])"), Keys: []string{s.prefix + "eval"}}
	if _, err := s.open(t).Eval(bounded(t), gone); err != nil {
		t.Fatal(err)
	}
	if _, err := run(lease, set, "13"); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Eval without the key of the lock: got %v, want ErrLost", err)
	}
	lease = lock(t, first.Mutex("eval"))
	defer release(t, lease)
	if got, err := run(lease, "return redis.call('GET', KEYS[1])"); err != nil || fmt.Sprint(got) != "[41]" {
		t.Errorf("after two scripts that had to be refused: got %q, %v, want [41]", got, err)
	}
}
