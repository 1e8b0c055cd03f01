//go:build unix

package versions_test

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const name = "job"

// Every call that wants a name which a later version uses returns ErrVersion at once, without a
// change in Redis.
func TestCallsMeetALaterVersion(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	run := func(context.Context, *holdfast.Lease) error { t.Error("it runs"); return nil }
	hash := keyspace.HashID(later)
	calls := map[string]func(ctx context.Context) error{
		"Lock":    func(ctx context.Context) error { _, err := client.Mutex(name).Lock(ctx); return err },
		"TryLock": func(ctx context.Context) error { _, err := client.Mutex(name).TryLock(ctx); return err },
		"Do":      func(ctx context.Context) error { return holdfast.Do(ctx, client.Mutex(name), run) },
		"Multi":   func(ctx context.Context) error { _, err := client.Multi(name, "one behind it").Lock(ctx); return err },
		"Acquire": func(ctx context.Context) error { _, err := client.Semaphore(name, 2).Acquire(ctx, 1); return err },
		"TryAcquire": func(ctx context.Context) error {
			_, err := client.Semaphore(name, 2).TryAcquire(ctx, 1)
			return err
		},
		"Resize":    func(ctx context.Context) error { return client.Semaphore(name, 2).Resize(ctx, 3) },
		"Read":      func(ctx context.Context) error { _, err := client.RWMutex(name).RLock(ctx); return err },
		"Write":     func(ctx context.Context) error { _, err := client.RWMutex(name).TryLock(ctx); return err },
		"Campaign":  func(ctx context.Context) error { _, err := client.Election(name).Campaign(ctx, "me"); return err },
		"Once":      func(ctx context.Context) error { return client.Once(ctx, name, time.Minute, run) },
		"OnceEvery": func(ctx context.Context) error { return client.OnceEvery(ctx, name, time.Hour, time.Time{}, run) },
		"Steal":     func(ctx context.Context) error { _, err := client.Mutex(name).Steal(ctx, hash, "why"); return err },
		"admin.Revoke": func(ctx context.Context) error {
			_, err := admin.Of(client).Revoke(ctx, name, hash, "why")
			return err
		},
		"admin.Steal": func(ctx context.Context) error { return admin.Of(client).Steal(ctx, name, hash, "why") },
	}
	for plant, state := range plantedAt(name) {
		for call, do := range calls {
			if !t.Run(call+" "+plant, func(t *testing.T) {
				server.MustDo(t, "FLUSHALL")
				for _, command := range state {
					server.MustDo(t, command...)
				}
				before := everything(t, server)
				ctx, cancel := context.WithTimeout(t.Context(), clienttest.Slack)
				defer cancel()
				err := do(ctx)
				if !errors.Is(err, holdfast.ErrVersion) || !strings.Contains(err.Error(), "protocol 2, this process has 1): update this process") {
					t.Errorf("got %v, want ErrVersion and what to do", err)
				}
				if after := everything(t, server); !maps.Equal(before, after) {
					t.Errorf("it changed\n%q\ninto\n%q", before, after)
				}
			}) {
				return // each of the others may wait as long
			}
		}
	}
}

// plantedAt are the states in the keys of a name, without those of no name.
func plantedAt(name string) map[string][][]any {
	all := map[string][][]any{}
	keys := map[any]string{"L": clienttest.LockKey(name), "F": clienttest.FenceKey(name), "Q": clienttest.QueueKey(name)}
	for plant, state := range planted {
		for _, command := range state {
			if key := keys[command[1]]; key != "" && plant != "node" {
				all[plant] = append(all[plant], append([]any{command[0], key}, command[2:]...))
			}
		}
	}
	return all
}

// An observer reads the error, too, and a name that this version uses goes on.
func TestObserveALaterVersion(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	server.MustDo(t, "SET", clienttest.LockKey(name), later, "PX", 60_000)
	for leader, err := range client.Election(name).Observe(t.Context()) {
		if !leader.None() || !errors.Is(err, holdfast.ErrVersion) {
			t.Errorf("got %+v, %v, want ErrVersion", leader, err)
		}
		break
	}
	clienttest.GiveBack(t, clienttest.Take(t, client, "another"))
}

// An exported lease of a later version is not adopted.
func TestAdoptOfALaterVersion(t *testing.T) {
	client := clienttest.Open(t, redistest.Start(t, redistest.Options{}).URL(), holdfast.Options{})
	text := "holdfast2-" + base64.RawURLEncoding.EncodeToString([]byte("of another form"))
	if _, err := client.Adopt(t.Context(), text); !errors.Is(err, holdfast.ErrVersion) || errors.Is(err, holdfast.ErrExport) {
		t.Errorf("got %v, want ErrVersion", err)
	}
}

// Tools show another version as what it is, and not as a client of another library.
func TestInspectALaterVersion(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	for plant, state := range plantedAt(name) {
		server.MustDo(t, "FLUSHALL")
		for _, command := range state {
			server.MustDo(t, command...)
		}
		s, err := admin.Of(client).Inspect(t.Context(), name)
		if err != nil || s.Version != 2 {
			t.Errorf("%s: got %+v, %v, want version 2", plant, s, err)
			continue
		}
		if h := s.Holder; (h != nil) != (plant == "holder") || h != nil && (h.Foreign || h.Version != 2 || !strings.Contains(h.Describe(), "another version")) {
			t.Errorf("%s: got the holder %+v", plant, h)
		}
		if found := diagnose.State(s, nil); len(found) != 1 || found[0].Code != diagnose.OtherVersion || found[0].Code.Problem() {
			t.Errorf("%s: diagnosed %+v", plant, found)
		}
	}
}

// A quorum refuses when too few nodes are left for a majority.
func TestQuorumMeetsALaterVersion(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	client := d.Client(holdfast.QuorumOptions{})
	for i, s := range d.Servers[:2] {
		s.MustDo(t, "SET", clienttest.FenceKey(name), "v2|100", "PX", 60_000)
		if i == 0 {
			clienttest.GiveBack(t, clienttest.Take(t, client, name)) // two nodes are a majority
			continue
		}
		_, err := client.Mutex(name).Lock(t.Context())
		if !errors.Is(err, holdfast.ErrVersion) {
			t.Errorf("got %v, want ErrVersion", err)
		}
	}
}
