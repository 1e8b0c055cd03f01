//go:build unix

package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Least times and Once need no rights beyond those of docs/guide/08-operating.md, with each
// driver, on one server and in a Cluster, where keys must share a slot.
func TestHoldOnServers(t *testing.T) {
	t.Parallel()
	places := map[string]clienttest.Place{
		"app":       {Servers: []*redistest.Server{redistest.Start(t, redistest.Options{})}, Scheme: "redis"},
		"clustered": {Servers: redistest.Cluster(t, 3, 0), Scheme: "cluster"},
	}
	for user, p := range places {
		url := p.User(t, p.DocumentedRights(t, user))
		for _, d := range clienttest.Drivers {
			t.Run(user+" "+d.Name, func(t *testing.T) {
				first := holdfast.New(d.Open(t, url, clienttest.Way{}), &holdfast.Options{Owner: "first", TTL: 2 * time.Second})
				t.Cleanup(func() { _ = first.Close() })
				second := holdfast.New(d.Open(t, url, clienttest.Way{}), &holdfast.Options{Owner: "second", TTL: 2 * time.Second})
				t.Cleanup(func() { _ = second.Close() })
				leastOn(t, first, second, "least-"+d.Name)
				onceOn(t, first, second, "once-"+d.Name)
				tickOn(t, first, second, "tick-"+d.Name)
			})
		}
		if got := p.Refused(t); len(got) > 0 {
			t.Errorf("refused to %s: %q", user, got)
		}
	}
}

func leastOn(t *testing.T, first, second *holdfast.Client, name string) {
	const least = 3 * time.Second // beyond the ttl: it takes a renewal
	mutex := first.Mutex(name)
	mutex.MinHold = least
	began := time.Now()
	lease, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan error, 2)
	for _, c := range []*holdfast.Client{second, first} {
		go func() {
			lease, err := c.Mutex(name).Lock(t.Context())
			if err == nil {
				err = lease.Release()
			}
			next <- err
		}()
	}
	clienttest.Eventually(t, "the other waits in the queue", func() bool {
		state, err := admin.Of(second).Inspect(t.Context(), name)
		return err == nil && len(state.Waiters) == 1
	})
	if err := lease.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
	state, err := admin.Of(second).Inspect(t.Context(), name)
	if err != nil || state.Holder == nil || !state.Holder.Cooldown || state.Holder.Owner != "first" || len(state.Waiters) != 2 {
		t.Errorf("got %+v, %v, want that it cools down after the first, and two wait", state, err)
	}
	for range 2 {
		if err := <-next; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(began); took < least || took > least+clienttest.Slack {
		t.Errorf("all had it after %v, want soon after %v", took, least)
	}
}

func onceOn(t *testing.T, first, second *holdfast.Client, name string) {
	err := first.Once(t.Context(), name, time.Hour, func(context.Context, *holdfast.Lease) error {
		err := second.Once(t.Context(), name, time.Hour, func(context.Context, *holdfast.Lease) error { return nil })
		if e, ok := errors.AsType[*holdfast.NotDueError](err); !ok || !e.Running || e.Owner != "first" || e.Last == nil {
			t.Errorf("while it runs: got %v, want that it runs", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	run, err := second.LastRun(t.Context(), name)
	if err != nil || run.Outcome != holdfast.Done || run.Owner != "first" || run.Ended.Before(run.Began) {
		t.Errorf("LastRun: got %+v, %v, want the run of the first", run, err)
	}
	err = second.Once(t.Context(), name, time.Hour, func(context.Context, *holdfast.Lease) error { return nil })
	if e, ok := errors.AsType[*holdfast.NotDueError](err); !ok || e.Running || e.DueIn < 59*time.Minute || *e.Last != *run {
		t.Errorf("got %v, want that it is not due", err)
	}
}

func tickOn(t *testing.T, first, second *holdfast.Client, name string) {
	tick := func(c *holdfast.Client, period time.Duration, f func()) error {
		return c.OnceEvery(t.Context(), name, period, time.Time{}, func(context.Context, *holdfast.Lease) error {
			f()
			return nil
		})
	}
	never := func() { t.Error("it runs twice") }
	err := tick(first, time.Hour, func() {
		if e, ok := errors.AsType[*holdfast.NotDueError](tick(second, time.Hour, never)); !ok || !e.Running || e.Owner != "first" || e.Last == nil {
			t.Errorf("while it runs: got %v, want that it runs", e)
		}
	})
	if err != nil {
		t.Error(err)
	}
	e, ok := errors.AsType[*holdfast.NotDueError](tick(second, time.Hour, never))
	if !ok || e.Running || e.DueIn < 59*time.Minute || e.Last == nil || e.Last.Outcome != holdfast.Done || e.Last.Tick.IsZero() {
		t.Errorf("got %+v, want that the tick has begun", e)
	}
	if err := tick(second, time.Minute, never); !errors.Is(err, holdfast.ErrSchedule) {
		t.Errorf("got %v, want ErrSchedule", err)
	}
}

// Full memory does not keep a name from resting, nor a run from being written down
// as ended; none begins.
func TestFullMemoryCoolsDown(t *testing.T) {
	t.Parallel()
	server, client := fullServer(t)
	a, b := client(holdfast.Options{Owner: "a"}), client(holdfast.Options{Owner: "b"})
	mutex := a.Mutex("n")
	mutex.MinHold = time.Hour
	lease, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = b.Mutex("n").Lock(ctx) }()
	queueLength(t, server, "n", "1")
	own := make(chan struct{})
	go func() {
		defer close(own)
		_, _ = a.Mutex("n").Lock(ctx) // queued again by the release
	}()
	clienttest.Eventually(t, "an own caller waits", func() bool {
		held := (*holdfast.HeldError)(nil)
		_, err := a.Mutex("n").TryLock(t.Context())
		return errors.As(err, &held) && held.Waiters == 1
	})
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	if err := lease.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
	if got := server.MustDo(t, "GET", clienttest.LockKey("n")); got != "cooldown|a" {
		t.Fatalf("the lock key is %q, want that it cools down", got)
	}
	queueLength(t, server, "n", "2")
	cancel()
	<-own

	server.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
	err = a.Once(t.Context(), "job", time.Hour, func(context.Context, *holdfast.Lease) error {
		server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
		return nil
	})
	if err != nil {
		t.Fatalf("Once: %v", err)
	}
	if run, err := b.LastRun(t.Context(), "job"); err != nil || run.Outcome != holdfast.Done {
		t.Errorf("LastRun: got %+v, %v, want that it is done", run, err)
	}
	err = a.Once(t.Context(), "other", time.Hour, func(context.Context, *holdfast.Lease) error {
		t.Error("it runs with full memory")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Once: got %v, want OOM", err)
	}
}

// Of what stands in the record's key nothing makes a program fail that is not ours.
func TestOnceForeignRecord(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := holdfast.New(clienttest.Drivers[0].Open(t, server.URL(), clienttest.Way{}), nil)
	t.Cleanup(func() { _ = client.Close() })
	nothing := func(context.Context, *holdfast.Lease) error { return nil }

	server.MustDo(t, "SET", "holdfast/once:{holdfast:text}", "1.2|what is this")
	if _, err := client.LastRun(t.Context(), "text"); !errors.Is(err, holdfast.ErrNeverRan) {
		t.Errorf("LastRun: got %v, want ErrNeverRan", err)
	}
	if err := client.Once(t.Context(), "text", time.Hour, nothing); err != nil {
		t.Errorf("Once: %v", err)
	}
	server.MustDo(t, "HSET", "holdfast/once:{holdfast:hash}", "a", "b")
	if _, err := client.LastRun(t.Context(), "hash"); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("LastRun: got %v, want WRONGTYPE", err)
	}
	if err := client.Once(t.Context(), "hash", time.Hour, nothing); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("Once: got %v, want WRONGTYPE", err)
	}
	if got := server.MustDo(t, "EXISTS", clienttest.LockKey("hash")); got != "0" {
		t.Error("a run that never was leaves a cool-down")
	}
	server.MustDo(t, "SET", "holdfast/once:{holdfast:ahead}", "9007199254740000.1.0|other|")
	if err := client.Once(t.Context(), "ahead", time.Hour, nothing); err == nil {
		t.Error("Once: ran with a token below that of the record")
	}
}
