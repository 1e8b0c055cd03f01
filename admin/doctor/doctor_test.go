package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// server answers as Redis would, for one name. Each field is one way to be bent.
type server struct {
	driver.Store
	info      string   // the answer to INFO
	cluster   string   // and to CLUSTER INFO; not empty: it is part of a Cluster
	masters   []string // the answers to INFO of the other masters
	noRights  bool     // it cannot say which commands it would refuse
	lacking   []string
	refuses   map[*driver.Script]driver.ServerError
	deletes   bool // another program deletes the lock key
	ahead     time.Duration
	slow      time.Duration // when round trips are measured
	answers   int           // number of calls that are answered, then none; 0: all
	noPublish string        // what it says instead of publishing
	deaf      bool          // no message arrives
	noSub     error
	noPing    error
	noScan    error
	noUnsub   bool // it ends the connection of an SUNSUBSCRIBE

	mu      sync.Mutex
	calls   int
	holder  string
	queue   []string
	message func(string)
	subs    []*subscription
}

func (s *server) Sharded() bool { return s.cluster != "" }

func (s *server) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.mu.Lock()
	s.calls++
	silent := s.answers > 0 && s.calls > s.answers
	s.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal, ok := s.refuses[call.Script]; ok {
		return nil, refusal
	}
	now := time.Now().Add(s.ahead)
	us := fmt.Sprint(now.UnixMicro())
	line := func(word string) []string { return []string{fmt.Sprintf("%s 1 1 0 %d 0", word, now.Unix())} }
	switch call.Script {
	case script.Check:
		return s.checked(s.info), nil
	case script.Lock:
		return s.lock(now, call.Args[0], call.Args[1] == "wait"), nil
	case script.Renew:
		return line("renewed"), nil
	case script.RenewKeyOnly:
		return []string{"kept", us}, nil
	case script.Cancel:
		return []string{"cancelled", us, ""}, nil
	case script.Unlock, script.UnlockKeyOnly:
		return s.unlock(now, call), nil
	case script.Inspect, script.Sweep:
		return []string{"state"}, nil
	}
	return []string{"0"}, nil // nobody listens
}

func (s *server) EvalAll(_ context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i := range calls {
		if i == 0 {
			results[i].Err = driver.ServerError("CLUSTERDOWN Hash slot not served")
			continue
		}
		all := append([]string{s.info}, s.masters...)
		results[i].Reply = s.checked(all[i%len(all)])
	}
	return results
}

func (s *server) checked(info string) []string {
	can := "1"
	if s.noRights {
		can = "0"
	}
	info = strings.ReplaceAll(info, "\n", "\r\n")
	return append([]string{"checked", "0", info, strings.ReplaceAll(s.cluster, "\n", "\r\n"), can}, s.lacking...)
}

func (s *server) lock(now time.Time, id string, wait bool) []string {
	us := fmt.Sprint(now.UnixMicro())
	switch {
	case s.holder == "" || s.deletes:
		s.holder = id
		return []string{fmt.Sprintf("granted 1 1 0 %d 0", now.Unix())}
	case !wait:
		return []string{"held", s.holder, "60000", "0", us}
	}
	if !slices.Contains(s.queue, id) {
		s.queue = append(s.queue, id)
		s.publish("recall " + s.holder)
	}
	return []string{fmt.Sprintf("queued 60000 0 %s %d 0 1 1 500 %d %s%s", us, now.Unix(), len(s.holder), s.holder, s.noPublish)}
}

func (s *server) unlock(now time.Time, call driver.Call) []string {
	us := fmt.Sprint(now.UnixMicro())
	if s.holder != call.Args[0] {
		time.Sleep(s.slow)
		return []string{"not held", s.holder, us}
	}
	if s.holder = ""; len(s.queue) > 0 {
		s.holder, s.queue = s.queue[0], nil
		s.publish(fmt.Sprintf("grant 1 1 0 %d 0 2000 %s", now.Unix(), s.holder))
	}
	if call.Script == script.UnlockKeyOnly {
		return []string{"dropped", us}
	}
	return []string{"released"}
}

func (s *server) publish(payload string) {
	if s.noPublish == "" && !s.deaf && s.message != nil {
		s.message("a payload of no program")
		s.message(payload)
	}
}

func (s *server) Subscribe(_ context.Context, _ string, message func(string)) (driver.Subscription, error) {
	if s.noSub != nil {
		return nil, s.noSub
	}
	if s.message == nil {
		s.message = message
	}
	sub := &subscription{of: s, done: make(chan struct{})}
	s.subs = append(s.subs, sub)
	return sub, nil
}

func (s *server) Scan(context.Context, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("key", s.noScan) }
}

type subscription struct {
	of   *server
	done chan struct{}
	once sync.Once
}

func (s *subscription) Done() <-chan struct{}      { return s.done }
func (s *subscription) Ping(context.Context) error { return s.of.noPing }

func (s *subscription) Close() {
	for _, sub := range s.of.subs {
		if sub == s || s.of.noUnsub {
			sub.once.Do(func() { close(sub.done) })
		}
	}
}

// fit is what a server says of itself with which nothing is wrong.
const fit = `redis_version:7.2.4
role:master
maxmemory_policy:noeviction
maxmemory:0
used_memory:1000000
aof_enabled:1
aof_last_write_status:ok
rdb_last_bgsave_status:ok
connected_slaves:0
`

// checked is what Check finds in simulated time, by name, and how long it took.
func checked(t *testing.T, s *server, ttl time.Duration) (all map[string]doctor.Result, took time.Duration) {
	t.Helper()
	all = map[string]doctor.Result{}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for _, check := range doctor.Check(t.Context(), s, &doctor.Options{TTL: ttl}) {
			if _, twice := all[check.Name]; twice || check.Finding == "" {
				t.Errorf("a check that was there, or without a finding: %+v", check)
			}
			if (check.State == doctor.Warn || check.State == doctor.Fail) && check.Consequence == "" {
				t.Errorf("%s is %s and does not say what follows", check.Name, check.State)
			}
			all[check.Name] = check
		}
		took = time.Since(began)
		time.Sleep(time.Minute) // a driver may need longer than its caller
	})
	return all, took
}

// found wants one check to have ended so; mend is part of what to do.
func found(t *testing.T, all map[string]doctor.Result, name string, state doctor.State, finding, mend string) {
	t.Helper()
	if got := all[name]; got.State != state || !strings.Contains(got.Finding, finding) || !strings.Contains(got.Fix, mend) {
		t.Errorf("%s: got %+v, want %s, a finding with %q and a mend with %q", name, got, state, finding, mend)
	}
}

func TestCheckOfAFitServer(t *testing.T) {
	for name, s := range map[string]*server{
		"one server": {info: fit},
		"a Cluster": {
			info: fit + "run_id:a\n", masters: []string{fit + "run_id:b\n", fit + "run_id:c\n"},
			cluster: "cluster_state:ok\ncluster_slots_ok:16384",
		},
	} {
		all, took := checked(t, s, time.Minute)
		if len(all) != 11 || took != 0 || s.holder != "" || len(s.queue) != 0 {
			t.Errorf("%s: got %d results after %v, and %q is left", name, len(all), took, s.holder)
		}
		for _, check := range all {
			if check.State != doctor.OK || check.Fix != "" {
				t.Errorf("%s: got %+v, want %s and nothing to do", name, check, doctor.OK)
			}
		}
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

		{"x:1", "memory", doctor.Unknown, "does not say its maxmemory-policy", "+info"},
		{"maxmemory_policy:noeviction\nmaxmemory:0", "memory", doctor.OK, "no maxmemory", ""},
		{"maxmemory_policy:noeviction\nmaxmemory:1000\nused_memory:900", "memory", doctor.OK, "noeviction", ""},
		{"maxmemory_policy:noeviction\nmaxmemory:102400\nused_memory:97280", "memory", doctor.Warn, "95 of 100 KiB used", "raise maxmemory"},
		{"maxmemory_policy:noeviction\nmaxmemory:104857600\nused_memory:99614720", "memory", doctor.Warn, "95 of 100 MiB used", "raise maxmemory"},
		{"maxmemory_policy:allkeys-lru\nmaxmemory:104857600", "memory", doctor.Fail, "allkeys-lru, maxmemory 100 MiB", "noeviction"},
		{"maxmemory_policy:volatile-ttl\nmaxmemory:1048576", "memory", doctor.Fail, "volatile-ttl, maxmemory 1 MiB", "noeviction"},
		{"maxmemory_policy:allkeys-lfu\nmaxmemory:0", "memory", doctor.Warn, "no maxmemory yet", "noeviction"},

		{"x:1", "persistence", doctor.Unknown, "does not say whether it keeps", "+info"},
		{"aof_enabled:1\naof_last_write_status:err", "persistence", doctor.Fail, "cannot be written", "disk"},
		{"aof_enabled:1\nrdb_last_bgsave_status:err", "persistence", doctor.Warn, "snapshot failed", "disk"},
		{"aof_enabled:1\naof_last_write_status:ok\nrdb_last_bgsave_status:ok", "persistence", doctor.OK, "append-only", ""},
		{"aof_enabled:0\nconnected_slaves:1", "persistence", doctor.Warn, "no append-only", "appendonly yes"},

		{"x:1", "replicas", doctor.Unknown, "does not say whether it has replicas", "+info"},
		{"connected_slaves:0", "replicas", doctor.OK, "none", ""},
		{"connected_slaves:1\nslave0:ip=h,port=1,state=online,offset=9,lag=10", "replicas", doctor.OK, "1 connected", ""},
		{"connected_slaves:2\nslave0:ip=h,port=1,state=online,offset=9,lag=0\nslave1:ip=h,port=2,state=online,offset=9,lag=99", "replicas", doctor.Warn, "99 s behind", "network"},
		{"connected_slaves:1\nslave0:ip=h,port=1,state=wait_bgsave,offset=0,lag=0", "replicas", doctor.Warn, "wait_bgsave", "log"},
		{"connected_slaves:1", "replicas", doctor.Warn, "one is not known and ? s behind", "log"},

		{"x:1", "cluster", doctor.OK, "not a Cluster", ""},
		{"cluster_enabled:1", "cluster", doctor.Fail, "single server", "cluster://"},
	} {
		all, _ := checked(t, &server{info: test.info}, 0)
		found(t, all, test.name, test.state, test.finding, test.mend)
	}
	all, _ := checked(t, &server{info: "aof_enabled:0\nconnected_slaves:1"}, 0)
	if got := all["persistence"].Consequence; !strings.Contains(got, "empties its replicas") {
		t.Errorf("without a file, but with a replica: got %q", got)
	}
}

func TestCheckOfACluster(t *testing.T) {
	for cluster, want := range map[string]doctor.Result{
		"cluster_state:ok\ncluster_slots_ok:16384":   {State: doctor.OK, Finding: "state ok, 16384 of 16384"},
		"cluster_state:fail\ncluster_slots_ok:16384": {State: doctor.Fail, Finding: "state fail", Fix: "--cluster fix"},
		"cluster_state:ok\ncluster_slots_ok:10923":   {State: doctor.Fail, Finding: "10923 of 16384", Fix: "missing masters"},
		"x:1": {State: doctor.Unknown, Finding: "does not show", Fix: "+cluster|info"},
	} {
		all, _ := checked(t, &server{info: fit, cluster: cluster}, 0)
		found(t, all, "cluster", want.State, want.Finding, want.Fix)
	}
	bad := strings.Replace(fit, "noeviction\nmaxmemory:0", "allkeys-lru\nmaxmemory:1048576", 1)
	all, _ := checked(t, &server{
		info: fit + "run_id:a\n", masters: []string{fit + "run_id:b", bad + "run_id:c\ntcp_port:7003"},
		cluster: "cluster_state:ok\ncluster_slots_ok:16384", noUnsub: true,
	}, 0)
	found(t, all, "memory", doctor.Fail, "of 3 masters, the one on port 7003", "noeviction")
	found(t, all, "wait", doctor.Warn, "refuses to unsubscribe", "+sunsubscribe")
}

func TestCheckOfRights(t *testing.T) {
	for _, test := range []struct {
		noRights      bool
		lacking       []string
		state         doctor.State
		finding, mend string
	}{
		{false, nil, doctor.OK, "all required rights", ""},
		{true, nil, doctor.Unknown, "cannot list", ""},
		{false, []string{"scan"}, doctor.Warn, "missing: +scan", "ACL SETUSER"},
		{false, []string{"publish", "scan"}, doctor.Warn, "+publish +scan, or the channels &holdfast/push:*", "ACL SETUSER"},
		{false, []string{"subscribe"}, doctor.Fail, "the channels &holdfast/push:*", "ACL SETUSER"},
		{false, []string{"zadd", "scan"}, doctor.Fail, "+zadd +scan", "ACL SETUSER"},
	} {
		all, _ := checked(t, &server{info: fit, noRights: test.noRights, lacking: test.lacking}, 0)
		found(t, all, "rights", test.state, test.finding, test.mend)
	}
}

// What a server refuses is a finding of the step that needs it. Where names can be locked it is one of no other.
func TestCheckOfRefusals(t *testing.T) {
	noRight := driver.ServerError("NOPERM No permissions to access a channel")
	for _, test := range []struct {
		server        *server
		name          string
		state         doctor.State
		finding, mend string
	}{
		{&server{refuses: map[*driver.Script]driver.ServerError{script.Lock: "OOM command not allowed"}}, "lock", doctor.Fail, "OOM", "raise maxmemory"},
		{&server{refuses: map[*driver.Script]driver.ServerError{script.Lock: "READONLY You can't write"}}, "lock", doctor.Fail, "READONLY", "address of the master"},
		{&server{refuses: map[*driver.Script]driver.ServerError{script.Renew: "NOPERM no"}}, "lock", doctor.Fail, "renew: the server's user lacks a right", ""},
		{&server{refuses: map[*driver.Script]driver.ServerError{script.Cancel: "ERR no"}}, "wait", doctor.Fail, "cancel: ERR no", ""},
		{&server{refuses: map[*driver.Script]driver.ServerError{script.UnlockKeyOnly: "ERR no"}}, "lock", doctor.Fail, "unlock_key_only: ERR no", ""},
		{&server{deletes: true}, "lock", doctor.Fail, `was answered "granted", not "held": another program deletes keys`, ""},
		{&server{noSub: noRight}, "wait", doctor.Fail, "subscribe: the server's user lacks a right", ""},
		{&server{noSub: errors.New("broken pipe")}, "wait", doctor.Fail, "no answer: subscribe: broken pipe", "firewalls"},
		{&server{noPing: driver.ServerError("NOPERM no ping")}, "wait", doctor.Fail, "ping: the server's user lacks a right", ""},
		{&server{noPublish: "NOPERM no publish"}, "wait", doctor.Warn, "refuses to publish: NOPERM no publish", "+publish"},
		{&server{noScan: driver.ServerError("NOPERM no scan")}, "list", doctor.Warn, "NOPERM no scan", "+scan"},
		{&server{deaf: true}, "wait", doctor.Fail, "did not arrive", "proxy"},
	} {
		test.server.info = fit
		all, took := checked(t, test.server, time.Second)
		found(t, all, test.name, test.state, test.finding, test.mend)
		for name, check := range all {
			if check.State != doctor.OK && name != test.name && test.name != "lock" {
				t.Errorf("%s fails for want of %s: %+v", name, test.name, check)
			}
		}
		if took > 2*time.Second {
			t.Errorf("%s: it took %v", test.finding, took)
		}
	}
}

// Check reports a clock that is more than 1 s ahead or behind.
func TestCheckOfTheClock(t *testing.T) {
	for ahead, want := range map[time.Duration]doctor.Result{
		0:                       {State: doctor.OK, Finding: "within 1ms"},
		-900 * time.Millisecond: {State: doctor.OK, Finding: "within 900ms"},
		90 * time.Second:        {State: doctor.Warn, Finding: "1m30s ahead of", Fix: "NTP"},
		-90 * time.Second:       {State: doctor.Warn, Finding: "1m30s behind", Fix: "NTP"},
	} {
		all, _ := checked(t, &server{info: fit, ahead: ahead}, 0)
		found(t, all, "clock", want.State, want.Finding, want.Fix)
	}
}

// A server is too far away, or not, for the ttl that is used; a grant lasts 2 s at most.
func TestCheckOfTheRoundTrip(t *testing.T) {
	for _, test := range []struct {
		ttl, slow time.Duration
		state     doctor.State
		mend      string
	}{
		{time.Minute, 200 * time.Millisecond, doctor.OK, ""},
		{time.Minute, 210 * time.Millisecond, doctor.Warn, "longer TTL"},
		{time.Minute, 700 * time.Millisecond, doctor.Fail, "longer TTL"},
		{300 * time.Millisecond, 30 * time.Millisecond, doctor.OK, ""},
		{300 * time.Millisecond, 101 * time.Millisecond, doctor.Fail, "longer TTL"},
	} {
		all, _ := checked(t, &server{info: fit, slow: test.slow}, test.ttl)
		found(t, all, "round trip", test.state, "at most "+test.slow.String(), test.mend)
		found(t, all, "clock", doctor.OK, "within 1ms", "")
	}
}

func TestCheckOfAnAbsentServer(t *testing.T) {
	for _, test := range []struct{ said, finding, mend string }{
		{"NOAUTH Authentication required.", "NOAUTH", ""},
		{"READONLY You can't write", "READONLY", "address of the master"},
	} {
		s := &server{refuses: map[*driver.Script]driver.ServerError{script.Check: driver.ServerError(test.said)}}
		all, _ := checked(t, s, 0)
		found(t, all, "server", doctor.Fail, test.finding, test.mend)
		if len(all) != 1 || s.calls != 1 {
			t.Errorf("got %v after %d calls, want one result of one call", all, s.calls)
		}
	}
}

// Wherever a server falls silent Check ends in time, and says so.
func TestCheckEndsInSilence(t *testing.T) {
	whole := &server{info: fit}
	checked(t, whole, time.Second)
	for n := range whole.calls - 2 { // the last one deletes what is left
		s := &server{info: fit, answers: n + 1}
		all, took := checked(t, s, time.Second)
		if took > 2*time.Second {
			t.Errorf("silent after %d answers: Check took %v", n+1, took)
		}
		failed := 0
		for _, check := range all {
			if check.State == doctor.Fail && strings.Contains(check.Finding, "no answer") && strings.Contains(check.Fix, "firewalls") {
				failed++
			}
		}
		if failed == 0 || s.calls != n+2 {
			t.Errorf("silent after %d answers: got %v after %d calls, want a FAIL and one call more", n+1, all, s.calls)
		}
	}
}

// The end of a context ends a Check.
func TestCheckIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &server{info: fit, slow: 300 * time.Millisecond}
		began := time.Now()
		results := doctor.Check(ctx, s, nil)
		if last := results[len(results)-1]; last.Name != "round trip" || last.State != doctor.Fail {
			t.Errorf("got %+v, want a round trip without an end", last)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		time.Sleep(time.Minute)
	})
}
