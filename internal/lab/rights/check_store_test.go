//go:build unix

package rights_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/labtest"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

// bent is an embedded store that is bent for a test.
type bent struct {
	driver.Store
	info   string // what the server says of itself
	deaf   bool   // no message arrives
	slow   time.Duration
	answer int64 // so many calls are answered, then none; 0: all
	calls  atomic.Int64
}

func (s *bent) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if n := s.calls.Add(1); s.answer > 0 && n > s.answer {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if call.Script.Name == "unlock_key_only" { // by which time is measured
		time.Sleep(s.slow)
	}
	reply, err := s.Store.Eval(ctx, call)
	if call.Script.Name == "check" && err == nil && s.info != "" {
		reply[2] = s.info
	}
	return reply, err
}

func (s *bent) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	if s.deaf {
		message = func(string) {}
	}
	return s.Store.Subscribe(ctx, channel, message)
}

func local(t *testing.T, now func() time.Time) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(&embedded.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// The embedded store does what locks need, and has no settings to tell of.
func TestCheckOfTheEmbeddedStore(t *testing.T) {
	store := local(t, nil)
	allWell(t, checked(t, store, 0), "rights", "memory", "persistence")
	if got, err := store.Do("KEYS", "*"); err != nil || fmt.Sprint(got) != "[]" {
		t.Errorf("left behind: %v, %v", got, err)
	}
}

// What servers may say of themselves, and what is made of it.
func TestCheckReadsInfo(t *testing.T) {
	for _, test := range []struct {
		info, name    string
		state         doctor.State
		finding, mend string
	}{
		{"redis_version:7.2.4\nvalkey_version:8.1.0\nrole:master", "server", doctor.OK, "valkey 8.1.0, master", ""},
		{"redis_version:6.2.1\nrole:slave", "server", doctor.Fail, "redis 6.2.1, a replica", "master"},
		{"x:1", "server", doctor.Unknown, "does not say", "+info"},
		{"aof_enabled:1\naof_last_write_status:err", "persistence", doctor.Fail, "cannot be written", "disk"},
		{"aof_enabled:1\nrdb_last_bgsave_status:err", "persistence", doctor.Warn, "snapshot failed", "disk"},
		{"aof_enabled:1\naof_last_write_status:ok\nrdb_last_bgsave_status:ok", "persistence", doctor.OK, "append-only", ""},
		{"aof_enabled:0\nconnected_slaves:1", "persistence", doctor.Warn, "no append-only", "appendonly yes"},
		{"connected_slaves:2\nslave0:ip=h,port=1,state=online,offset=9,lag=0\nslave1:ip=h,port=2,state=online,offset=9,lag=99", "replicas", doctor.Warn, "99 s behind", "network"},
		{"connected_slaves:1\nslave0:ip=h,port=1,state=wait_bgsave,offset=0,lag=0", "replicas", doctor.Warn, "wait_bgsave", "log"},
		{"connected_slaves:0", "replicas", doctor.OK, "none", ""},
		{"cluster_enabled:1", "cluster", doctor.Fail, "single server", "cluster://"},
		{"maxmemory_policy:noeviction\nmaxmemory:1000\nused_memory:950", "memory", doctor.Warn, "used", "raise maxmemory"},
	} {
		store := &bent{Store: local(t, nil), info: strings.ReplaceAll(test.info, "\n", "\r\n")}
		found(t, checked(t, store, 0), test.name, test.state, test.finding, test.mend)
	}
}

// A clock that differs by more than a second is told, in which way.
func TestCheckOfTheClock(t *testing.T) {
	for shift, want := range map[time.Duration]string{90 * time.Second: "1m30s ahead of", -90 * time.Second: "1m30s behind"} {
		store := local(t, func() time.Time { return time.Now().Add(shift) })
		found(t, checked(t, store, 0), "clock", doctor.Warn, want, "NTP")
	}
}

// Messages that do not arrive are found out, though everything is answered.
func TestCheckHearsNothing(t *testing.T) {
	t.Parallel()
	all := checked(t, &bent{Store: local(t, nil), deaf: true}, time.Second)
	found(t, all, "wait", doctor.Fail, "did not arrive", "proxy")
	found(t, all, "lock", doctor.OK, "", "")
}

// Wherever a server falls silent Check ends in time, and says so.
func TestCheckEndsInSilence(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for n := range int64(24) { // as many as are followed by another
		store := local(t, nil)
		wg.Go(func() {
			began := time.Now()
			all := checked(t, &bent{Store: store, answer: n + 1}, time.Second)
			if took := time.Since(began); took > labtest.Slack {
				t.Errorf("silent after %d answers: Check took %v", n+1, took)
			}
			failed := 0
			for _, check := range all {
				if check.State == doctor.Fail {
					failed++
				}
			}
			if failed == 0 {
				t.Errorf("silent after %d answers: got no FAIL in %v", n+1, all)
			}
		})
	}
	wg.Wait()
}

// A server is too far away, or not, for the ttl that is used.
func TestCheckOfTheRoundTrip(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for ttl, want := range map[time.Duration]doctor.State{
		time.Minute: doctor.Warn, 300 * time.Millisecond: doctor.Fail, // a grant lasts 2 s at most
	} {
		store := &bent{Store: local(t, nil), slow: 210 * time.Millisecond}
		wg.Go(func() { found(t, checked(t, store, ttl), "round trip", want, "at most", "longer TTL") })
	}
	wg.Wait()
}
