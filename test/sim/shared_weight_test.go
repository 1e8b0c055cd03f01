package sim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
	"github.com/holdfast-go/holdfast/test/sim"
)

var weightRuns = flag.Int("weightruns", 25, "random runs of TestReducedWeights")

// Holders reduce their weights while requests are lost, repeated and late, and while the store loses
// single values, keys, or its newest writes. No grant ever makes the sum of what the holders use more
// than the capacity, and Redis never counts less for a holder than it uses. When each holder has
// renewed, Redis counts exactly what they use.
func TestReducedWeights(t *testing.T) {
	done := map[string]int{}
	for seed := range uint64(*weightRuns) {
		w := newWeights(t, seed)
		for range 60 {
			w.step()
		}
		w.settle()
		for what, n := range w.done {
			done[what] += n
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.trace, "\n"))
		}
	}
	t.Log(done)
	for _, what := range []string{"reduced", "reduced while others wait", "granted by a reduction", "failover", "late", "counted too much"} {
		if done[what] == 0 && !t.Failed() {
			t.Errorf("no run has %q", what)
		}
	}
}

// weightUser is a holder or waiter of one id.
type weightUser struct {
	id         string
	orig, uses int64
	held, over bool
	ends       time.Time // what it believes
}

// weights is one name, and all who use it.
type weights struct {
	t        *testing.T
	r        *rand.Rand
	server   *embedded.Store
	now      time.Time
	keys     *keyspace.Keys
	letters  string
	capacity int64
	users    []*weightUser
	late     []driver.Call
	copies   []weightCopy
	before   map[string]int64 // what Redis counted for each holder after the last step
	trace    []string
	done     map[string]int
}

// weightCopy is what a replica has.
type weightCopy struct {
	at            time.Time
	held          map[string]time.Time
	holders, lock []string
	holdersTTL    int64
	lockTTL       int64
}

const weightTTL = 6 * time.Second

func newWeights(t *testing.T, seed uint64) *weights {
	w := &weights{t: t, r: rand.New(rand.NewPCG(seed, 46)), now: time.Now(), letters: "s", capacity: 6, done: map[string]int{}}
	if seed%3 == 0 {
		w.letters, w.capacity = "rw", 1<<30
	}
	store, err := embedded.Open(&embedded.Options{Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w.server = store
	w.keys, _ = keyspace.KeysOf(sim.Prefix, "n")
	if _, err := store.Subscribe(t.Context(), "holdfast/push:c", func(string) {}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *weights) say(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *weights) do(args ...string) any {
	reply, err := w.server.Do(args...)
	if err != nil {
		w.t.Errorf("%q: %v", args, err)
	}
	return reply
}

func (w *weights) list(args ...string) (all []string) {
	found, _ := w.do(args...).([]any)
	for _, v := range found {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// send runs a call, loses it, or lets it run later, too.
func (w *weights) send(call driver.Call) (word string, answered bool) {
	fate := w.r.IntN(10)
	if fate == 0 || fate == 1 {
		w.late = append(w.late, call)
	}
	if fate == 1 || fate == 2 {
		w.say("  %s %v: lost", call.Script.Name, call.Args)
		return "", false
	}
	word = w.run(call)
	return word, fate != 3
}

func (w *weights) run(call driver.Call) string {
	reply, err := w.server.Eval(w.t.Context(), call)
	if err != nil {
		w.t.Errorf("%s %v: %v", call.Script.Name, call.Args, err)
		return ""
	}
	w.say("  %s %v: %v", call.Script.Name, call.Args, reply)
	word, _, _ := strings.Cut(reply[0], " ")
	return word
}

func (w *weights) renewal(u *weightUser) driver.Call {
	args := []string{u.id}
	if u.uses < u.orig {
		args = append(args, "0", "", strconv.FormatInt(u.uses, 10))
	}
	return driver.Call{Script: script.SharedRenew, Keys: append(w.keys.WithHolders(), w.keys.RevocationOf(u.id)), Args: args}
}

func (w *weights) lockCall(u *weightUser, mode string) driver.Call {
	return driver.Call{Script: script.SharedLock, Keys: w.lockKeys(), Args: []string{u.id, strconv.FormatInt(w.capacity, 10), mode, "0", ""}}
}

func (w *weights) lockKeys() []string {
	if w.letters == "s" {
		return w.keys.WithSize()
	}
	return w.keys.WithHolders()
}

// living returns a holder that believes in its hold, or nil.
func (w *weights) living() *weightUser {
	var all []*weightUser
	for _, u := range w.users {
		if w.lives(u) {
			all = append(all, u)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.r.IntN(len(all))]
}

func (w *weights) lives(u *weightUser) bool { return u.held && !u.over && w.now.Before(u.ends) }

func (w *weights) step() {
	h, loses := w.keys.Holders(), false
	u := w.living()
	before := w.granted()
	switch what := w.r.IntN(20); {
	case what < 5 || u == nil:
		letter := w.letters[w.r.IntN(len(w.letters))]
		weight := int64(1 + w.r.IntN(4))
		if letter != 's' {
			weight = map[byte]int64{'r': 1, 'w': 1 << 30}[letter]
		}
		n := len(w.users)
		u = &weightUser{id: "c.n" + strconv.Itoa(n) + keyspace.SharedSuffix(weightTTL, letter, weight, "o"), orig: weight, uses: weight}
		w.users = append(w.users, u)
		call := w.lockCall(u, []string{"try", "wait", "wait"}[w.r.IntN(3)])
		w.send(call)
		if w.r.IntN(3) == 0 {
			w.late = append(w.late, call) // also after it has reduced its weight
		}
	case what < 9:
		w.renew(u)
	case what < 13:
		if u.uses > 1 {
			waiting := w.do("ZCARD", w.keys.Queue()) != int64(0)
			if u.uses = 1 + w.r.Int64N(u.uses-1); w.letters != "s" {
				u.uses = 1
			}
			w.say("%s reduces its weight to %d", u.id, u.uses)
			w.done["reduced"]++
			if waiting {
				w.done["reduced while others wait"]++
			}
			w.renew(u)
			if w.granted() > before {
				w.done["granted by a reduction"]++
			}
		}
	case what == 13:
		u.over = true
		w.send(driver.Call{Script: script.SharedUnlock, Keys: w.keys.WithHolders(), Args: []string{u.id}})
	case what == 14:
		if w.send(driver.Call{Script: script.SharedSteal, Keys: append(w.keys.WithHolders(), w.keys.RevocationOf(u.id)), Args: []string{u.id, "", "why"}}); !w.t.Failed() {
			u.over = true // the watch does not count what Steal takes
		}
	case what == 15:
		w.now = w.now.Add(time.Duration(w.r.Int64N(int64(weightTTL / 2))))
		w.say("time passes")
	case what == 16 && len(w.late) > 0:
		i := w.r.IntN(len(w.late))
		w.say("late:")
		w.run(w.late[i])
		w.late = slices.Delete(w.late, i, i+1)
		w.done["late"]++
	case what == 17:
		loses = true
		switch w.r.IntN(4) {
		case 0:
			w.say("DEL lock")
			w.do("DEL", w.keys.Lock())
		case 1:
			w.say("the reduced weight of %s is lost", u.id)
			w.do("ZREM", h, "weight|"+u.id)
		case 2:
			if score := w.score(u.id); score >= sim.Light && u.orig > 1 {
				w.say("%s is heavy again", u.id)
				w.do("ZADD", h, strconv.FormatFloat(score-sim.Light, 'f', 0, 64), u.id)
			}
		case 3:
			w.say("DEL holders")
			w.do("DEL", h)
			for _, u := range w.users {
				u.over = u.over || u.held
			}
		}
	case what == 18 && len(w.copies) > 0:
		w.restore(w.copies[max(0, len(w.copies)-1-w.r.IntN(4))])
		loses = true
	case what == 19:
		w.say("only the holders key can be reached:")
		if call := w.renewal(u); w.run(driver.Call{Script: script.SharedRenewKeyOnly, Keys: []string{h}, Args: call.Args[:1]}) == "kept" {
			u.ends = w.now.Add(weightTTL)
		}
	}
	w.check(loses)
	w.copies = append(w.copies, w.copy())
}

func (w *weights) renew(u *weightUser) {
	word, answered := w.send(w.renewal(u))
	switch {
	case !answered:
	case word == "renewed":
		u.ends = w.now.Add(weightTTL)
	default:
		u.over = true
	}
}

func (w *weights) score(id string) float64 {
	text, _ := w.do("ZSCORE", w.keys.Holders(), id).(string)
	score, _ := strconv.ParseFloat(text, 64)
	return score
}

// entries are the ids in the holders key whose time has not ended, and what Redis counts for them.
func (w *weights) entries() (ends map[string]time.Time, weight map[string]int64) {
	ends, weight = map[string]time.Time{}, map[string]int64{}
	all := w.list("ZRANGE", w.keys.Holders(), "0", "-1", "WITHSCORES")
	less := map[string]int64{}
	for i := 0; i < len(all); i += 2 {
		if of, ok := strings.CutPrefix(all[i], "weight|"); ok && !slices.Contains(all, of) {
			w.t.Errorf("%s is left alone", all[i])
		}
		score, _ := strconv.ParseFloat(all[i+1], 64)
		id, _ := keyspace.ParseID(all[i])
		if of, ok := strings.CutPrefix(all[i], "weight|"); ok {
			less[of] = int64(-score)
			continue
		}
		weight[all[i]] = id.Weight
		if n := less[all[i]]; n > 0 {
			weight[all[i]] = n
		}
		if score >= sim.Light {
			score -= sim.Light
			weight[all[i]] = 1
		}
		if ends[all[i]] = time.UnixMicro(int64(score)); !w.now.Before(ends[all[i]]) {
			delete(ends, all[i])
			delete(weight, all[i])
		}
	}
	return ends, weight
}

func (w *weights) granted() int { ends, _ := w.entries(); return len(ends) }

// check notes who was granted, and compares. Only a loss makes a weight larger.
func (w *weights) check(loses bool) {
	ends, weight := w.entries()
	for id, n := range weight {
		if last, ok := w.before[id]; ok && n > last && !loses {
			w.t.Errorf("%s weighs %d after %d", id, n, last)
		}
	}
	w.before = weight
	var used, counted int64
	for _, u := range w.users {
		if end, ok := ends[u.id]; ok && !u.held && !u.over && !loses {
			u.held, u.ends = true, end
			w.say("%s is granted", u.id)
		}
		if !w.lives(u) {
			continue
		}
		used += u.uses
		if n, ok := weight[u.id]; !ok || n < u.uses {
			w.t.Errorf("Redis counts %d for %s, which uses %d", n, u.id, u.uses)
		} else if n > u.uses {
			w.done["counted too much"]++
		}
	}
	if used > w.capacity {
		w.t.Errorf("%d of %d are used", used, w.capacity)
	}
	reply, err := w.server.Eval(w.t.Context(), driver.Call{Script: script.SharedInspect, Keys: w.keys.WithHolders(), Args: []string{"100", ""}})
	if err != nil {
		w.t.Fatal(err)
	}
	if s, err := wire.DecodeState(reply); err == nil && len(reply) > 5 && reply[0] == "shared" {
		for _, n := range weight {
			counted += n
		}
		if s.Used != counted {
			w.t.Errorf("inspect: %d are used, want %d", s.Used, counted)
		}
		for _, h := range s.Holders {
			if h.Weight != weight[h.ID] {
				w.t.Errorf("inspect: %s weighs %d, want %d", h.ID, h.Weight, weight[h.ID])
			}
		}
	}
}

func (w *weights) copy() weightCopy {
	c := weightCopy{at: w.now, held: map[string]time.Time{}}
	c.held, _ = w.entries()
	c.holders = w.list("ZRANGE", w.keys.Holders(), "0", "-1", "WITHSCORES")
	c.lock = w.list("HGETALL", w.keys.Lock())
	c.holdersTTL, _ = w.do("PTTL", w.keys.Holders()).(int64)
	c.lockTTL, _ = w.do("PTTL", w.keys.Lock()).(int64)
	return c
}

// restore is a failover to a replica without the newest writes. A holder that it does not know has
// lost its hold; the others hold as long as it says.
func (w *weights) restore(c weightCopy) {
	w.say("failover")
	w.done["failover"]++
	h, lock := w.keys.Holders(), w.keys.Lock()
	w.do("DEL", h, lock)
	passed := w.now.Sub(c.at).Milliseconds()
	for i := 0; i < len(c.holders); i += 2 {
		w.do("ZADD", h, c.holders[i+1], c.holders[i])
	}
	if len(c.lock) > 0 {
		w.do(append([]string{"HSET", lock}, c.lock...)...)
		w.do("PEXPIRE", lock, strconv.FormatInt(c.lockTTL-passed, 10))
	}
	if len(c.holders) > 0 {
		w.do("PEXPIRE", h, strconv.FormatInt(c.holdersTTL-passed, 10))
	}
	for _, u := range w.users {
		end, ok := c.held[u.id]
		switch {
		case u.held && !ok:
			u.over = true
		case u.held && end.Before(u.ends):
			u.ends = end
		}
	}
	w.copies = nil
}

// settle lets all holders renew, and then release.
func (w *weights) settle() {
	w.say("settle")
	for _, u := range w.users {
		if w.lives(u) {
			if word := w.run(w.renewal(u)); word == "renewed" {
				u.ends = w.now.Add(weightTTL)
			} else {
				u.over = true
			}
		}
	}
	w.check(false)
	_, weight := w.entries()
	for _, u := range w.users {
		if w.lives(u) && weight[u.id] != u.uses {
			w.t.Errorf("after the renewals Redis counts %d for %s, which uses %d", weight[u.id], u.id, u.uses)
		}
	}
	for _, u := range w.users {
		w.run(driver.Call{Script: script.SharedUnlock, Keys: w.keys.WithHolders(), Args: []string{u.id}})
	}
	for _, entry := range w.list("ZRANGE", w.keys.Holders(), "0", "-1") {
		w.t.Errorf("%s is left", entry)
	}
}

// take gives a new id n permits.
func (w *weights) take(n int64) *weightUser {
	w.t.Helper()
	u := &weightUser{id: "c.n" + strconv.Itoa(len(w.users)) + keyspace.SharedSuffix(weightTTL, 's', n, "o"), orig: n, uses: n}
	w.users = append(w.users, u)
	if word := w.run(w.lockCall(u, "try")); word != "granted" {
		w.t.Errorf("lock of %d: %s", n, word)
	}
	return u
}

// reduce renews with this weight.
func (w *weights) reduce(u *weightUser, weight int64) {
	w.t.Helper()
	u.uses = weight
	if word := w.run(w.renewal(u)); word != "renewed" {
		w.t.Errorf("renew: %s", word)
	}
}

// weighs wants what Redis counts for all holders, and that it keeps no weight of others.
func (w *weights) weighs(want ...int64) {
	w.t.Helper()
	_, weight := w.entries()
	var got []int64
	for _, u := range w.users {
		if n := weight[u.id]; n > 0 {
			got = append(got, n)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("Redis counts %v, want %v:\n%s", got, want, strings.Join(w.trace, "\n"))
	}
}

// What the scripts do with a reduced weight.
func TestReducedWeightRules(t *testing.T) {
	unlock := func(w *weights, u *weightUser) {
		w.run(driver.Call{Script: script.SharedUnlock, Keys: w.keys.WithHolders(), Args: []string{u.id}})
	}
	// outlived lets the time of the first of two holders end.
	outlived := func(w *weights) (a, b *weightUser) {
		a, b = w.take(4), w.take(2)
		w.reduce(a, 3)
		w.now = w.now.Add(weightTTL / 2)
		w.reduce(b, 2)
		w.now = w.now.Add(weightTTL * 3 / 5)
		return a, b
	}
	for name, play := range map[string]func(w *weights){
		"a late renewal makes it no larger": func(w *weights) {
			a := w.take(4)
			w.reduce(a, 2)
			w.reduce(a, 3)
			w.weighs(2)
			w.reduce(a, 4) // names no weight
			w.weighs(2)
		},
		"a late lock makes it no larger": func(w *weights) {
			a, b := w.take(3), w.take(3)
			w.reduce(a, 1)
			w.reduce(b, 2)
			w.run(w.lockCall(a, "try"))
			w.run(w.lockCall(b, "wait"))
			w.weighs(1, 2)
		},
		"a weight of 1 needs no entry": func(w *weights) {
			a := w.take(4)
			w.reduce(a, 3)
			w.reduce(a, 1)
			w.weighs(1)
			if n := w.do("ZCARD", w.keys.Holders()); n != int64(1) {
				w.t.Errorf("%v entries, want 1", n)
			}
		},
		"it ends with the holder's time": func(w *weights) {
			outlived(w)
			w.take(1)
			w.weighs(2, 1)
		},
		"it stays when the time of others ends": func(w *weights) {
			w.take(2)
			c := w.take(4)
			w.reduce(c, 2)
			w.now = w.now.Add(weightTTL / 2)
			w.reduce(c, 2)
			w.now = w.now.Add(weightTTL * 3 / 5)
			w.take(1)
			w.weighs(2, 1)
		},
		"it is stored without the lock key, which a renewal does not create": func(w *weights) {
			a, b := w.take(4), w.take(2)
			w.do("DEL", w.keys.Lock())
			w.reduce(a, 3)
			w.reduce(b, 1)
			w.weighs(3, 1)
			if n := w.do("EXISTS", w.keys.Lock()); n != int64(0) {
				w.t.Error("there is a lock key")
			}
		},
		"it ends when the holder learns that it is over": func(w *weights) {
			a, _ := outlived(w)
			if word := w.run(w.renewal(a)); word != "lost" {
				w.t.Errorf("renew: %s", word)
			}
			w.weighs(2)
		},
		"unlock without the lock key ends it": func(w *weights) {
			a := w.take(4)
			w.take(2)
			w.reduce(a, 3)
			w.do("DEL", w.keys.Lock())
			unlock(w, a)
			w.weighs(2)
		},
		"steal without the lock key ends it": func(w *weights) {
			a := w.take(4)
			w.take(2)
			w.reduce(a, 3)
			w.do("DEL", w.keys.Lock())
			w.run(driver.Call{Script: script.SharedSteal, Keys: append(w.keys.WithHolders(), w.keys.RevocationOf(a.id)), Args: []string{a.id, "", "why"}})
			w.weighs(2)
		},
		"unlock_key_only ends it": func(w *weights) {
			a := w.take(4)
			w.take(2)
			w.reduce(a, 3)
			w.run(driver.Call{Script: script.SharedUnlockKeyOnly, Keys: []string{w.keys.Holders()}, Args: []string{a.id}})
			w.weighs(2)
		},
	} {
		t.Run(name, func(t *testing.T) { play(newWeights(t, 1)) })
	}
}
