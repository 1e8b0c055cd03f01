package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

// Every way to give a key 100 ms.
func TestKeysDieOnTime(t *testing.T) {
	inOneTenth := func(unit time.Duration) string {
		return strconv.FormatInt(time.Now().Add(100*time.Millisecond).UnixNano()/int64(unit), 10)
	}
	tests := map[string]func(t *testing.T, store *embedded.Store){
		"SET PX":   func(t *testing.T, s *embedded.Store) { do(t, s, "SET", "k", "v", "NX", "PX", "100") },
		"SET PXAT": func(t *testing.T, s *embedded.Store) { do(t, s, "SET", "k", "v", "PXAT", inOneTenth(time.Millisecond)) },
		"PSETEX":   func(t *testing.T, s *embedded.Store) { do(t, s, "PSETEX", "k", "100", "v") },
		"PEXPIRE":  func(t *testing.T, s *embedded.Store) { do(t, s, "SET", "k", "v"); do(t, s, "PEXPIRE", "k", "100") },
		"PEXPIREAT": func(t *testing.T, s *embedded.Store) {
			do(t, s, "SET", "k", "v")
			do(t, s, "PEXPIREAT", "k", inOneTenth(time.Millisecond))
		},
		"GETEX": func(t *testing.T, s *embedded.Store) { do(t, s, "SET", "k", "v"); do(t, s, "GETEX", "k", "PX", "100") },
		"KEEPTTL": func(t *testing.T, s *embedded.Store) {
			do(t, s, "SET", "k", "v", "PX", "100")
			do(t, s, "SET", "k", "w", "KEEPTTL")
		},
		"RENAME": func(t *testing.T, s *embedded.Store) {
			do(t, s, "SET", "j", "v", "PX", "100")
			do(t, s, "RENAME", "j", "k")
		},
		"COPY": func(t *testing.T, s *embedded.Store) {
			do(t, s, "SET", "j", "v", "PX", "100")
			do(t, s, "COPY", "j", "k")
		},
		"shorter": func(t *testing.T, s *embedded.Store) {
			do(t, s, "SET", "k", "v", "EX", "9")
			do(t, s, "PEXPIRE", "k", "100", "LT")
		},
		"longer": func(t *testing.T, s *embedded.Store) {
			do(t, s, "SET", "k", "v", "PX", "9")
			do(t, s, "PEXPIRE", "k", "100", "GT")
		},
		"zset": func(t *testing.T, s *embedded.Store) {
			do(t, s, "ZADD", "k", "1", "m")
			do(t, s, "PEXPIRE", "k", "100")
		},
		"script": func(t *testing.T, s *embedded.Store) {
			script := lua(`redis.call('SET', KEYS[1], 'v', 'PX', 5000) return redis.call('PEXPIRE', KEYS[1], ARGV[1])`)
			if _, err := s.Eval(t.Context(), driver.Call{Script: script, Keys: []string{"k"}, Args: []string{"100"}}); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, set := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := open(t)
				set(t, store)
				want(t, do(t, store, "PTTL", "k"), any(int64(100)))
				time.Sleep(100*time.Millisecond - 1)
				want(t, do(t, store, "EXISTS", "k"), any(int64(1)))
				time.Sleep(time.Nanosecond)
				want(t, do(t, store, "EXISTS", "k"), any(int64(0)))
				want(t, do(t, store, "PTTL", "k"), any(int64(-2)))
			})
		})
	}
}

func TestExpiryEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		do(t, store, "SET", "forever", "v")
		want(t, do(t, store, "PTTL", "forever"), any(int64(-1)))

		do(t, store, "SET", "k", "v", "PX", "100")
		do(t, store, "PERSIST", "k")
		do(t, store, "SET", "j", "v", "PX", "100")
		do(t, store, "SET", "j", "w") // clears the expiry
		do(t, store, "ZADD", "z", "1", "m")
		do(t, store, "PEXPIRE", "z", "100")
		do(t, store, "ZREM", "z", "m") // gone, and its expiry with it
		do(t, store, "ZADD", "z", "1", "m")
		time.Sleep(time.Second)
		want(t, do(t, store, "EXISTS", "k", "j", "z", "forever"), any(int64(4)))

		want(t, do(t, store, "PEXPIRE", "k", "0"), any(int64(1)))
		want(t, do(t, store, "PEXPIRE", "j", "-5"), any(int64(1)))
		want(t, do(t, store, "PEXPIREAT", "z", "1000"), any(int64(1)))
		want(t, do(t, store, "EXISTS", "k", "j", "z"), any(int64(0)))
		want(t, do(t, store, "SET", "past", "v", "PXAT", "1000"), any("OK"))
		want(t, do(t, store, "EXISTS", "past"), any(int64(0)))
		do(t, store, "SET", "past", "v")
		time.Sleep(time.Second)
		want(t, do(t, store, "GET", "past"), any("v"))

		do(t, store, "SET", "k", "v", "EX", "10")
		time.Sleep(1400 * time.Millisecond)
		want(t, do(t, store, "TTL", "k"), any(int64(9)))
		want(t, do(t, store, "PEXPIRETIME", "k"), any(time.Now().UnixMilli()+8600))
	})
}

// Random lifetimes, looked at in steps of a third of a millisecond: no key is
// ever over early, and none is seen a millisecond late.
func TestExpiryIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		random := rand.New(rand.NewPCG(1, 2))
		deadlines := map[string]time.Time{}
		for step := range 3000 {
			if step < 2000 {
				key := fmt.Sprint("k", random.IntN(50))
				ttl := 1 + random.IntN(40)
				do(t, store, "SET", key, "v", "PX", strconv.Itoa(ttl))
				deadlines[key] = time.Now().Add(time.Duration(ttl) * time.Millisecond)
			}
			time.Sleep(333_333 * time.Nanosecond)
			for key, deadline := range deadlines {
				left := time.Until(deadline)
				alive := do(t, store, "EXISTS", key) == any(int64(1))
				if alive && left <= -time.Millisecond || !alive && left > 0 {
					t.Fatalf("%s: alive %v with %v to go", key, alive, left)
				}
			}
		}
	})
}

// A script sees one instant, however long it takes.
func TestTimeStandsStillInAScript(t *testing.T) {
	var now time.Time
	ticking := func() time.Time { now = now.Add(time.Millisecond); return now }
	now = time.Now()
	store, err := embedded.Open(&embedded.Options{Now: ticking})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	script := lua(`local first = redis.call('TIME')
		redis.call('SET', KEYS[1], 'v', 'PX', 1)
		local last
		for i = 1, 100 do last = redis.call('TIME') end
		return {redis.call('EXISTS', KEYS[1]), last[1] - first[1], last[2] - first[2]}`)
	reply, err := store.Eval(t.Context(), driver.Call{Script: script, Keys: []string{"k"}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, fmt.Sprint(reply), "[1 0 0]")
	want(t, do(t, store, "EXISTS", "k"), any(int64(0)))

	reply, err = store.Eval(t.Context(), driver.Call{Script: lua(`return redis.call('TIME')`)})
	if err != nil {
		t.Fatal(err)
	}
	want(t, reply[0]+fmt.Sprintf("%06s", reply[1]), strconv.FormatInt(now.UnixMicro(), 10))
}

func TestManyKeysExpireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		for i := range 10_000 {
			do(t, store, "SET", fmt.Sprint("k", i), "v", "PX", strconv.Itoa(1000+i%2*1000))
		}
		time.Sleep(time.Second)
		want(t, do(t, store, "DBSIZE"), any(int64(5000)))
		time.Sleep(time.Second)
		want(t, do(t, store, "DBSIZE"), any(int64(0)))
	})
}

// A clock that is set back makes keys live longer, as in Redis.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store, err := embedded.Open(&embedded.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	do(t, store, "SET", "before", "v", "PX", "1000")
	now = now.Add(-time.Hour)
	do(t, store, "SET", "after", "v", "PX", "1000")
	want(t, do(t, store, "PTTL", "after"), any(int64(1000)))
	want(t, do(t, store, "PTTL", "before"), any(int64(3601000)))
	now = now.Add(time.Second)
	want(t, do(t, store, "EXISTS", "before", "after"), any(int64(1)))
	now = now.Add(time.Hour)
	want(t, do(t, store, "EXISTS", "before", "after"), any(int64(0)))
}

func TestDeadlines(t *testing.T) {
	var d embedded.Deadlines
	random := rand.New(rand.NewPCG(3, 4))
	model := map[string]int64{}
	for range 5000 {
		key := fmt.Sprint(random.IntN(100))
		at := random.Int64N(1000)
		d.Set(key, at)
		model[key] = at
		if now := random.Int64N(1000); random.IntN(3) == 0 {
			key, ok := d.Pop(now)
			if ok && model[key] > now {
				t.Fatalf("popped %s, due at %d, at %d", key, model[key], now)
			}
			delete(model, key)
			for _, at := range model {
				if !ok && at <= now {
					t.Fatalf("popped nothing at %d, with a deadline at %d", now, at)
				}
			}
		}
	}
}
