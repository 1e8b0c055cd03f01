package drivers_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/redis/go-redis/v9"
)

// BenchmarkTracking is what it costs to be told by Redis that a lock key was deleted, by client-side
// caching: the figures of docs/adr/0038-loss-by-tampering.md. One operation is a lock, a renewal and an unlock.
func BenchmarkTracking(b *testing.B) {
	b.Run("off", func(b *testing.B) { track(b, nil) })
	b.Run("read again", func(b *testing.B) { track(b, []any{}) })
	for _, held := range []int{1, 100, 1000, 10000} { // names that are held by all Clients of the server
		b.Run(fmt.Sprint("broadcast/", held), func(b *testing.B) {
			mode := []any{"bcast", "prefix", "holdfast:tracked"}
			for i := 1; i < held; i++ {
				mode = append(mode, "prefix", fmt.Sprintf("holdfast:other-%05d", i))
			}
			track(b, mode)
		})
	}
}

// track measures with one tracking connection; nil: none. Without broadcast it reads the key
// again after each invalidation, or it would hear of no other.
func track(b *testing.B, mode []any) {
	ctx := b.Context()
	rc := redis.NewClient(&redis.Options{Addr: redistest.Start(b, redistest.Options{}).Addr(), Protocol: 2, ContextTimeoutEnabled: true})
	defer func() { _ = rc.Close() }()
	client := holdfast.New(goredisstore.New(rc), nil)
	defer func() { _ = client.Close() }()
	var heard atomic.Int64
	told := make(chan struct{}, 1)
	if mode != nil {
		pubsub := rc.Subscribe(ctx, "__redis__:invalidate")
		defer func() { _ = pubsub.Close() }()
		messages := pubsub.Channel(redis.WithChannelSize(1 << 16))
		var id string
		for id == "" {
			list := rc.Do(ctx, "client", "list", "type", "pubsub").String()
			if _, after, ok := strings.Cut(list, "id="); ok {
				id, _, _ = strings.Cut(after, " ")
			}
		}
		reader := rc.Conn()
		defer func() { _ = reader.Close() }()
		mustDo(b, reader.Do(ctx, append([]any{"client", "tracking", "on", "redirect", id}, mode...)...).Err())
		read := func() {
			if len(mode) == 0 {
				_ = reader.Get(ctx, "holdfast:tracked").Err() // redis.Nil: it is free
			}
		}
		read()
		go func() {
			for range messages {
				read()
				heard.Add(1)
				select {
				case told <- struct{}{}:
				default:
				}
			}
		}()
	}
	lock := func() *holdfast.Lease {
		lease, err := client.Mutex("tracked").Lock(ctx)
		mustDo(b, err)
		return lease
	}
	mustDo(b, lock().Release()) // the scripts are known, the connections are open
	cpu, commands := usage(b, rc)
	began := heard.Load()
	for b.Loop() {
		lease := lock()
		mustDo(b, lease.EnsureHeld(ctx))
		mustDo(b, lease.Release())
	}
	cpuAfter, commandsAfter := usage(b, rc)
	b.ReportMetric((cpuAfter-cpu)*1e6/float64(b.N), "cpu-us/op")
	b.ReportMetric((commandsAfter-commands)/float64(b.N), "commands/op")
	b.ReportMetric(float64(heard.Load()-began)/float64(b.N), "invalidations/op")
	if mode == nil {
		return
	}
	var took []time.Duration
	for range 51 {
		lease := lock()
		for quiet := false; !quiet; { // until what the lock itself brings about has been heard
			select {
			case <-told:
			case <-time.After(5 * time.Millisecond):
				quiet = true
			}
		}
		deleted := time.Now()
		mustDo(b, rc.Del(ctx, "holdfast:tracked").Err())
		<-told
		took = append(took, time.Since(deleted))
		_ = lease.Release()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "notice-us")
}

func mustDo(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// usage is the CPU time in seconds that the server has used, and the commands it has run.
func usage(b *testing.B, rc *redis.Client) (cpu, commands float64) {
	info, err := rc.Info(context.Background(), "cpu", "stats").Result()
	mustDo(b, err)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			cpu += n
		case "total_commands_processed":
			commands += n
		}
	}
	return cpu, commands
}
