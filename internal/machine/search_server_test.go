package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

// modelServer is a small model of one master: what internal/script/mutex/*.lua does to one name.
// Its tokens are counted and not read from a clock; that is sound while the fence key is kept, which
// lives for longer than a lock key, whatever Options.TokenMemory says. The simulation has its life.
type modelServer struct {
	lock      string // the value of the lock key; empty: there is none
	expires   clock.Instant
	fence     int64
	pushedTo  int // 1 + the process that the newest grant was pushed to, if others waited
	queue     []place
	listens   [maxSearched]int // the attempt whose subscription is alive; 0: none
	unclaimed clock.Instant    // when a grant was pushed that its waiter has not claimed
	ahead     [maxSearched]int // 1 + grants that may go to others before that process is next; 0: nothing is promised
	aheadOf   [maxSearched]string
}

// place is one in the queue.
type place struct {
	id      string
	arrival int64
}

// said is an answer or a push, before it is written down.
type said struct {
	word              string
	last, size        int64
	waiting           int64
	us                int64 // the server's time
	holder            string
	ttl               time.Duration // negative: there is no key
	rank, score       int64
	inserted, listens bool
	poll              bool
	id                string // of a push
}

const noKey = -2 * time.Millisecond

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reply is the answer as Redis gives it.
func (a *said) reply() []string {
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	switch a.word {
	case "granted", "renewed":
		return []string{fmt.Sprintf("%s %d %d %d %d %d", a.word, a.last, a.size, a.waiting, a.us/1e6, a.us%1e6)}
	case "queued":
		return []string{fmt.Sprintf("queued %d %d %d %d %d %d %d %d %d %s", ms(a.ttl), a.rank, a.score, a.us/1e6, a.us%1e6,
			bit(a.inserted), bit(a.listens), bit(a.poll), len(a.holder), a.holder)}
	case "held":
		return []string{"held", a.holder, decimal(ms(a.ttl)), decimal(a.waiting), decimal(a.us)}
	case "released":
		return []string{"released"}
	case "not held", "lost":
		return []string{a.word, a.holder, decimal(a.us)}
	case "cancelled":
		return []string{"cancelled", decimal(a.us), ""}
	}
	panic("search: no answer " + a.word)
}

// payload is the push as Redis publishes it.
func (a *said) payload() string {
	switch a.word {
	case "grant":
		return fmt.Sprintf("grant %d %d %d %d %d %d %s", a.last, a.size, a.waiting, a.us/1e6, a.us%1e6, a.ttl.Milliseconds(), a.id)
	case "head":
		return fmt.Sprintf("head %d %s", a.ttl.Milliseconds(), a.id)
	}
	return a.word + " " + a.id
}

// epoch is when the search begins by the clock of the server, in microseconds.
const epoch = 1_700_000_000_000_000

func (w *world) us() int64 { return epoch + w.now.Sub(searchStart).Microseconds() }

// run is a script that reaches the server.
func (w *world) run(c driver.Call) said {
	s := &w.server
	switch args := c.Args; c.Script {
	case script.Lock:
		mode, arrival := "try", int64(0)
		if len(args) > 1 {
			mode = args[1]
			arrival, _ = strconv.ParseInt(args[2], 10, 64)
		}
		return s.runLock(w, args[0], mode, arrival)
	case script.Unlock:
		fresh := ""
		if len(args) > 2 {
			fresh = args[2]
		}
		return s.runUnlock(w, args[0], fresh)
	case script.Cancel:
		return s.runCancel(w, args[0])
	case script.Renew:
		return s.runRenew(w, args[0], len(args) > 1 && args[1] != "0")
	}
	panic("search: the model has no script " + c.Script.Name)
}

func ttlOf(id string) time.Duration {
	part := strings.Split(strings.SplitN(id, "|", 2)[0], ".")
	ms, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil {
		panic(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// procOf is whose id it is.
func (w *world) procOf(id string) int {
	for i := range w.procs {
		if strings.HasPrefix(id, w.bounds.heads[i]) {
			return i
		}
	}
	panic("search: nobody's id " + id)
}

func (s *modelServer) pttl(now clock.Instant) time.Duration {
	if s.lock == "" {
		return noKey
	}
	return s.expires.Sub(now)
}

func (s *modelServer) place(id string) int {
	return slices.IndexFunc(s.queue, func(p place) bool { return p.id == id })
}

// reserve is part/reserve_tokens.lua with part/read_fence.lua.
func (s *modelServer) reserve(w *world) (last, size int64) {
	s.fence += w.bounds.block
	s.pushedTo = 0
	return s.fence, w.bounds.block
}

// runLock is mutex/lock.lua.
func (s *modelServer) runLock(w *world, id, mode string, arrival int64) said {
	waiting := int64(len(s.queue))
	a := said{us: w.us(), waiting: waiting}
	if s.lock == id || s.lock == "" && waiting == 0 {
		if s.lock == id {
			s.expires, s.unclaimed = max(s.expires, w.now.Add(ttlOf(id))), 0
		} else {
			s.hold(w, id, ttlOf(id), false)
		}
		a.word = "granted"
		a.last, a.size = s.reserve(w)
		return a
	}
	if s.lock != "" && mode == "try" {
		a.word, a.holder, a.ttl = "held", s.lock, s.pttl(w.now)
		return a
	}
	var v survey
	mine := ""
	if mode == "try" {
		if v = s.survey(w, id, "", ""); v.chosen == "" {
			v.chosen, mine = id, id
		}
	} else {
		a.inserted = s.join(w, id, arrival)
		a.listens = s.listens[w.procOf(id)] > 0
		waiting = int64(len(s.queue))
		a.score = s.queue[s.place(id)].arrival
		if s.lock == "" {
			v, mine = s.survey(w, id, id, ""), id
		}
	}
	had := s.lock != ""
	a.holder, a.ttl = s.lock, s.pttl(w.now)
	if !had {
		granted := s.handOver(w, v, mine, waiting)
		if v.chosen == mine {
			a.word, a.last, a.size, a.waiting = "granted", granted.last, granted.size, granted.waiting
			return a
		}
		if mode == "try" {
			a.word, a.holder, a.ttl, a.waiting = "held", v.chosen, granted.ttl, granted.waiting
			return a
		}
		a.holder, a.ttl, a.poll = v.chosen, granted.ttl, true
	}
	a.word, a.rank = "queued", waiting-1
	if !a.inserted || arrival != 0 || !had {
		a.rank = int64(max(0, s.place(id)))
	}
	if a.rank == 0 {
		w.publish(said{word: "recall", id: a.holder})
	}
	return a
}

// runUnlock is mutex/unlock.lua.
func (s *modelServer) runUnlock(w *world, id, fresh string) said {
	waiting := int64(len(s.queue))
	a := said{us: w.us()}
	if s.lock == id && waiting == 0 && fresh == "" {
		s.lock, s.unclaimed = "", 0
		a.word = "released"
		return a
	}
	if s.lock != "" && s.lock != id || s.lock == "" && waiting == 0 {
		a.word, a.holder = "not held", s.lock
		return a
	}
	if s.lock == "" {
		fresh = ""
	}
	v := s.survey(w, id, fresh, "")
	if fresh != "" {
		if v.chosen != "" && v.chosen != fresh {
			a.inserted = s.join(w, fresh, 0)
			waiting = int64(len(s.queue))
		}
		a.score = s.lastArrival() + 1
		if at := s.place(fresh); at >= 0 {
			a.score = s.queue[at].arrival
		}
		if v.chosen == "" {
			v.chosen = fresh
		}
	}
	held := s.lock != ""
	granted := s.handOver(w, v, fresh, waiting)
	switch {
	case !held:
		a.word = "not held"
	case fresh == "":
		a.word = "released"
	case v.chosen == fresh:
		a.word, a.last, a.size, a.waiting = "granted", granted.last, granted.size, granted.waiting
	default:
		a.word, a.holder, a.ttl, a.rank = "queued", v.chosen, granted.ttl, granted.waiting-1
		a.listens = s.listens[w.procOf(fresh)] > 0
		if !a.inserted {
			a.rank = int64(max(0, s.place(fresh)))
		}
	}
	return a
}

// runCancel is mutex/cancel.lua.
func (s *modelServer) runCancel(w *world, id string) said {
	a := said{word: "cancelled", us: w.us()}
	rank, free := s.place(id), s.lock == "" || s.lock == id
	if !free && rank != 0 {
		s.remove(w, id)
		return a
	}
	v := s.survey(w, id, "", id)
	v.dead = append(v.dead, id)
	if free {
		s.handOver(w, v, "", int64(len(s.queue)))
		return a
	}
	for _, dead := range v.dead {
		s.remove(w, dead)
	}
	if v.chosen != "" {
		w.publish(said{word: "head", id: v.chosen, ttl: s.pttl(w.now)})
	}
	return a
}

// runRenew is mutex/renew.lua without revocations and MinHold.
func (s *modelServer) runRenew(w *world, id string, tokens bool) said {
	a := said{us: w.us()}
	if s.lock != id {
		a.word, a.holder, a.us = "lost", s.lock, 0
		return a
	}
	a.word, a.waiting = "renewed", int64(len(s.queue))
	s.expires, s.unclaimed = w.now.Add(ttlOf(id)), 0
	if tokens {
		a.last, a.size = s.reserve(w)
	} else {
		a.us = 0
	}
	return a
}

// survey is part/survey_queue.lua. asker is who asks, mine needs no listener, gone counts as dead.
type survey struct {
	dead, missed      []string
	chosen, following string
}

func (s *modelServer) survey(w *world, asker, mine, gone string) (v survey) {
	lapsed := -1
	if s.lock == "" && s.pushedTo > 0 && s.pushedTo-1 != w.procOf(asker) {
		lapsed = s.pushedTo - 1
	}
	second := ""
	for _, q := range s.queue {
		of := w.procOf(q.id)
		switch lives := s.listens[of] > 0 && of != lapsed; {
		case q.id == gone || q.id != mine && !lives:
			v.dead = append(v.dead, q.id)
			continue
		case v.chosen == "":
			v.chosen = q.id
			continue
		case of == w.procOf(v.chosen):
			if second == "" {
				second = q.id
			}
			continue
		}
		v.following = q.id
		break
	}
	if v.following == "" {
		v.following = second
	}
	if lapsed >= 0 {
		for _, q := range s.queue {
			if w.procOf(q.id) != lapsed || q.id == mine {
				continue
			}
			v.missed = append(v.missed, q.id)
			if !slices.Contains(v.dead, q.id) {
				v.dead = append(v.dead, q.id)
			}
		}
	}
	return v
}

// handOver is part/hand_over.lua. It returns what it grants, with the number that still waits.
func (s *modelServer) handOver(w *world, v survey, mine string, waiting int64) said {
	gone := int64(0)
	for _, id := range v.dead {
		if s.remove(w, id) {
			gone++
		}
	}
	if v.chosen == "" {
		s.lock, s.unclaimed = "", 0
		s.publishMissed(w, v)
		return said{}
	}
	if at := s.place(v.chosen); at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
		gone++
	}
	g := said{word: "grant", id: v.chosen, ttl: ttlOf(v.chosen), us: w.us(), waiting: waiting - gone}
	pushed := v.chosen != mine
	if pushed {
		g.ttl = min(g.ttl, w.bounds.window)
	}
	s.hold(w, v.chosen, g.ttl, pushed)
	g.last, g.size = s.reserve(w)
	if pushed && g.waiting > 0 {
		s.pushedTo = 1 + w.procOf(v.chosen)
	}
	s.publishMissed(w, v)
	if v.following != "" && v.following != mine {
		w.publish(said{word: "head", id: v.following, ttl: g.ttl})
	}
	if pushed {
		if w.procs[w.procOf(v.chosen)].dead {
			w.breaks(deadChosen)
		}
		w.publish(g)
	}
	return g
}

func (s *modelServer) publishMissed(w *world, v survey) {
	for _, id := range v.missed {
		w.publish(said{word: "missed", id: id})
	}
}

// hold makes an id the holder, and counts which waiters are overtaken.
func (s *modelServer) hold(w *world, id string, ttl time.Duration, pushed bool) {
	s.lock, s.expires, s.unclaimed = id, w.now.Add(ttl), 0
	if pushed {
		s.unclaimed = w.now
	}
	of := w.procOf(id)
	for p := range s.ahead {
		if s.ahead[p] == 0 {
			continue
		}
		if p == of {
			s.promiseNothing(p)
		} else if s.ahead[p]--; s.ahead[p] == 0 {
			w.breaks(overtaken)
		}
	}
}

func (s *modelServer) unlisten(p int) {
	s.listens[p] = 0
	s.promiseNothing(p)
}

// promiseNothing: the process does not wait any more, or its place is lost.
func (s *modelServer) promiseNothing(p int) { s.ahead[p], s.aheadOf[p] = 0, "" }

func (s *modelServer) lastArrival() int64 {
	if len(s.queue) == 0 {
		return 0
	}
	return s.queue[len(s.queue)-1].arrival
}

// join is ZADD NX: at the end, or at the arrival that the id had.
func (s *modelServer) join(w *world, id string, arrival int64) (inserted bool) {
	if s.place(id) >= 0 {
		return false
	}
	if arrival == 0 {
		arrival = max(w.us(), s.lastArrival()+1)
	}
	at := slices.IndexFunc(s.queue, func(p place) bool { return p.arrival > arrival })
	if at < 0 {
		at = len(s.queue)
	}
	s.queue = slices.Insert(s.queue, at, place{id, arrival})
	for p, of := range s.aheadOf {
		if of != "" && s.place(of) > at { // it comes back to a place in front
			s.ahead[p] = min(s.ahead[p]+1, 2*maxSearched)
		}
	}
	if p := w.procOf(id); s.ahead[p] == 0 && s.listens[p] > 0 && w.procs[p].wants(id) {
		s.ahead[p], s.aheadOf[p] = at+1, id
	}
	return true
}

// remove is ZREM.
func (s *modelServer) remove(w *world, id string) bool {
	at := s.place(id)
	if at < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, at, at+1)
	if p := w.procOf(id); s.aheadOf[p] == id {
		s.promiseNothing(p)
	}
	return true
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
