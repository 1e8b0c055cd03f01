package diagnose_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// held is a mutex that a holds, as it looks right after its renewal.
func held(change func(s *admin.State)) *admin.State {
	s := &admin.State{
		Name: "job", Key: "holdfast:job", Kind: holdfast.KindMutex, Token: 1, At: time.Unix(1, 0),
		Holder: &admin.Holder{
			Owner: "a", Hash: "0123456789", Client: "ca",
			Remaining: 15 * time.Second, TTL: 15 * time.Second, Held: time.Minute,
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

func waiter(owner string, waited time.Duration, part admin.Part) admin.Waiter {
	return admin.Waiter{Owner: owner, Client: "c" + owner, Waited: waited, Listening: true, Part: part}
}

// waitFor puts waiters into the line of s.
func waitFor(s *admin.State, waiters ...admin.Waiter) {
	s.Waiters, s.Waiting = waiters, len(waiters)
}

// reading is an RWMutex that readers hold and a writer waits for.
func reading(readers int, waited time.Duration) *admin.State {
	return held(func(s *admin.State) {
		s.Kind, s.Holding = holdfast.KindRWMutex, readers
		for i := range readers {
			s.Holders = append(s.Holders, admin.Holder{
				Owner: fmt.Sprintf("r%d", i), Hash: "0123456789", Client: fmt.Sprintf("cr%d", i),
				Remaining: 15 * time.Second, TTL: 15 * time.Second, Part: admin.Part{Reads: true},
			})
		}
		s.Holder = &s.Holders[0]
		waitFor(s, waiter("w", waited, admin.Part{Writes: true}), waiter("r9", time.Second, admin.Part{Reads: true}))
	})
}

// permits is a semaphore of 4 with used held permits and a waiter that wants 2.
func permits(used int, waited time.Duration) *admin.State {
	return held(func(s *admin.State) {
		s.Kind, s.Size, s.Used, s.Holding = holdfast.KindSemaphore, 4, used, 1
		s.Holder.Held, s.Holder.Part.Permits = 0, used
		s.Holders = []admin.Holder{*s.Holder}
		waitFor(s, waiter("b", waited, admin.Part{Permits: 2}))
	})
}

// usually says that each name is held for d.
func usually(d time.Duration) *diagnose.Options {
	return &diagnose.Options{Typical: func(string) (time.Duration, bool) { return d, true }}
}

func remaining(d time.Duration) func(*admin.State) {
	return func(s *admin.State) { s.Holder.Remaining = d }
}

func heldFor(d time.Duration) func(*admin.State) {
	return func(s *admin.State) { s.Holder.Held = d }
}

// Each code has its case, and each threshold both its sides.
func TestDiagnose(t *testing.T) {
	const (
		sec    = time.Second
		minute = time.Minute
	)
	healthy := "held-healthy"
	for what, test := range map[string]struct {
		state   *admin.State
		options *diagnose.Options
		want    string // the codes, most serious first
		says    string // is in the first sentence or action
	}{
		"free":         {held(func(s *admin.State) { s.Holder = nil }), nil, "", ""},
		"held":         {held(nil), nil, healthy, "held by a for 1m0s, renews on time"},
		"overdue":      {held(remaining(8 * sec)), nil, healthy, "held by a for 1m0s; it has not renewed for 7s, and 8s is left of its ttl of 15s"},
		"no label":     {held(func(s *admin.State) { s.Holder.Owner = "" }), nil, healthy, "held by a process without a label"},
		"leads":        {held(func(s *admin.State) { s.Term = 7 }), nil, healthy, "led by a for 1m0s"},
		"since when?":  {held(heldFor(0)), nil, healthy, "held by a, renews on time"},
		"a least time": {held(remaining(10 * minute)), nil, healthy, "kept for 10m0s more in any case"},
		"some permits": {permits(3, 0), nil, healthy, "3 of 4 permits are held by a, renewed on time"},
		"some readers": {reading(2, 0), nil, healthy, "held for reading by r0 and r1, renewed on time"},
		"many readers": {reading(5, 0), nil, healthy, "by r0, r1 and 3 more,"},
		"with details": {held(func(s *admin.State) { s.Holder.Details = &holdfast.Details{User: "alice", PID: 4121, Host: "web-3"} }), nil, healthy, "held by a (alice, pid 4121 on web-3) for"},
		"said by label": {held(func(s *admin.State) {
			s.Holder.Owner, s.Holder.Details = "web-3:4121", &holdfast.Details{User: "alice", PID: 4121, Host: "web-3"}
		}), nil, healthy, "held by web-3:4121 (alice) for"},
		"waited for":  {held(func(s *admin.State) { waitFor(s, waiter("b", 3*sec, admin.Part{})) }), nil, healthy, ""},
		"third left":  {held(remaining(5 * sec)), nil, healthy, ""},
		"less left":   {held(remaining(5*sec - 1)), nil, "renewals-late", "a renews late: 5s is left of its ttl of 15s; a holder that renews on time always has at least 10s"},
		"tenth left":  {held(remaining(1500 * time.Millisecond)), nil, "renewals-late", "the name is free in 1.5s"},
		"nearly over": {held(remaining(1499 * time.Millisecond)), nil, "expiring", "a has stopped renewing: 1.5s is left of its ttl of 15s"},
		"claims it":   {held(func(s *admin.State) { s.Holder.Held, s.Holder.Remaining = sec, sec }), nil, healthy, ""},
		"claims it late": {held(func(s *admin.State) {
			s.Holder.Held, s.Holder.Remaining = 1400*time.Millisecond, 600*time.Millisecond
		}), nil, "renewals-late", ""},
		"claimed it": {held(func(s *admin.State) { s.Holder.Held, s.Holder.Remaining = 2*sec, 2*sec }), nil, "renewals-late", ""},
		"may claim":  {permitsLeft(2 * sec), nil, healthy, ""},
		"may not":    {permitsLeft(2*sec + 1), nil, "renewals-late", ""},
		"not any more": {func() *admin.State {
			s := permitsLeft(2 * sec)
			s.Token = 2 * s.At.Add(-2*sec).UnixMicro()
			return s
		}(), nil, "renewals-late", "2s is left of its ttl of 15s"},
		"claims nothing": {permitsLeft(100 * time.Millisecond), nil, "expiring", ""},
		"one of three":   {func() *admin.State { s := reading(3, 0); s.Holders[1].Remaining = 3 * sec; return s }(), nil, "renewals-late", "r1 renews late"},
		"two of three": {func() *admin.State {
			s := reading(3, 0)
			s.Holders[1].Remaining, s.Holders[2].Remaining = 3*sec, 100*time.Millisecond
			return s
		}(), nil, "expiring", "r2 has stopped renewing: 100ms is left of its ttl of 15s; 2 of 3 holders renew late"},

		"not an hour": {held(heldFor(60 * minute)), nil, healthy, ""},
		"an hour":     {held(heldFor(60*minute + 1)), nil, "held-long", "held by a for 1h00m, which is more than an hour"},
		"not its ttl": {held(func(s *admin.State) {
			s.Holder.TTL, s.Holder.Remaining, s.Holder.Held = 120*minute, 120*minute, 120*minute
		}), nil, healthy, ""},
		"its ttl": {held(func(s *admin.State) {
			s.Holder.TTL, s.Holder.Remaining, s.Holder.Held = 120*minute, 120*minute, 120*minute+1
		}), nil, "held-long", "more than its ttl (2h00m)"},
		"as usual":          {held(heldFor(minute)), usually(20 * sec), healthy, ""},
		"longer than ever":  {held(heldFor(minute + 1)), usually(20 * sec), "held-long", "which is 3 times as long as usual (20s)"},
		"usually long":      {held(heldFor(600 * minute)), usually(300 * minute), healthy, ""},
		"usual, but no ttl": {held(heldFor(15 * sec)), usually(sec), healthy, ""},
		"above a ttl":       {held(heldFor(15*sec + 1)), usually(sec), "held-long", "which is 15 times as long as usual (1s)"},
		"as expected":       {held(expects(600*minute, 600*minute)), usually(sec), healthy, ""},
		"not as expected":   {held(expects(120*minute, 120*minute+1)), usually(300 * minute), "held-long", "held by a for 2h00m, which is longer than expected (2h00m)"},
		"within its ttl":    {held(expects(sec, 2*sec)), nil, "held-long", "held by a for 2s, which is longer than expected (1s)"},
		"a cure":            {held(heldFor(61 * minute)), nil, "held-long", "If that is normal, say so: 'holdfast run --expect' or Details.Expect"},
		"leads for long":    {held(func(s *admin.State) { s.Term, s.Holder.Held = 7, 6000*minute }), nil, healthy, ""},
		"leads as never":    {held(func(s *admin.State) { s.Term, s.Holder.Held = 7, 6000*minute }), usually(sec), healthy, ""},
		"may lead":          {held(func(s *admin.State) { s.Unreadable, s.Holder.Held = errors.New("NOPERM"), 6000*minute }), usually(sec), healthy, ""},
		"no history":        {held(heldFor(61 * minute)), &diagnose.Options{Typical: func(string) (time.Duration, bool) { return sec, false }}, "held-long", "holdfast revoke --tenure 0123456789 --reason TEXT job asks it to stop"},
		"late and long":     {held(func(s *admin.State) { s.Holder.Held, s.Holder.Remaining = 61*minute, sec }), nil, "expiring held-long", ""},

		"revoked":          {held(func(s *admin.State) { s.Holder.Revoked, s.Holder.Remaining = "drained", sec }), nil, "revoking", "a was asked to stop (drained); it keeps the name until it stops, or for 1s at most"},
		"rests":            {held(func(s *admin.State) { s.Holder = &admin.Holder{Owner: "a", Cooldown: true, Remaining: minute} }), nil, "cooldown", "in cool-down after the hold of a, for 1m0s more"},
		"rests for ever":   {held(func(s *admin.State) { s.Holder = &admin.Holder{Owner: "a", Cooldown: true, Remaining: -1} }), nil, "no-ttl", "the name stays locked"},
		"foreign":          {held(foreign(minute)), nil, "unmanaged", ", for 1m0s more unless it renews"},
		"foreign for ever": {held(foreign(-time.Millisecond)), nil, "no-ttl", "its key, holdfast:job, in Redis"},
		"later version":    {held(func(s *admin.State) { s.Version, s.Holder = 2, &admin.Holder{Version: 2, Remaining: -1} }), nil, "other-version", "another version of holdfast uses it (protocol 2)"},
		"persisted":        {held(remaining(-time.Millisecond)), nil, "no-ttl", "held by a, but the key has no expiry"},

		"free, just waited for": {held(func(s *admin.State) { s.Holder = nil; waitFor(s, waiter("b", 2*sec-1, admin.Part{})) }), nil, "", ""},
		"free, waited for": {held(func(s *admin.State) {
			s.Holder = nil
			waitFor(s, waiter("b", 2*sec, admin.Part{}), waiter("d", sec, admin.Part{}))
		}), nil, "starving", "b has been at the head of the queue for 2s, although it could have the name; 1 more wait behind it"},
		"free, its waiter dead": {held(func(s *admin.State) { s.Holder = nil; waitFor(s, admin.Waiter{Owner: "b", Waited: minute}) }), nil, "", ""},
		"permits free":          {permits(2, 2*sec), nil, "starving held-healthy", "b has been at the head of the queue"},
		"too few free":          {permits(3, 2*sec), nil, healthy, ""},
		"a reader may": {func() *admin.State {
			s := reading(1, minute)
			s.Waiters[0].Part = admin.Part{Reads: true}
			return s
		}(), nil, "starving held-healthy", ""},
		"long line":          {held(func(s *admin.State) { waitFor(s, waiter("b", 20*minute, admin.Part{})) }), nil, healthy, ""},
		"overtaken":          {held(func(s *admin.State) { waitFor(s, waiter("b", 20*minute+10*sec, admin.Part{})) }), nil, "starving held-healthy", "b, at the head of the queue, has waited for 20m10s, although a has held the name for only 1m0s"},
		"not overtaken: ttl": {held(func(s *admin.State) { s.Holder.Held = sec; waitFor(s, waiter("b", 5*minute, admin.Part{})) }), nil, healthy, ""},
		"overtaken: ttl": {held(func(s *admin.State) {
			s.Holder.Held = 10 * sec
			waitFor(s, waiter("b", 5*minute+10*sec, admin.Part{}))
		}), nil, "starving held-healthy", ""},
		"as slow as ever": {held(func(s *admin.State) { waitFor(s, waiter("b", 30*minute, admin.Part{})) }), usually(5 * minute), healthy, ""},

		"writer waits":   {reading(2, 15*sec), nil, healthy, ""},
		"writer blocked": {reading(2, 15*sec+1), nil, "readers-block-writer held-healthy", "w, a writer, has waited 15s for r0 and r1 to finish reading; 1 more wait behind it"},
		"a minute's enough": {func() *admin.State {
			s := reading(1, minute+1)
			s.Holders[0].TTL, s.Holders[0].Remaining = 10*minute, 10*minute
			return s
		}(), nil, "readers-block-writer held-healthy", ""},
		"not a minute": {func() *admin.State {
			s := reading(1, minute)
			s.Holders[0].TTL, s.Holders[0].Remaining = 10*minute, 10*minute
			return s
		}(), nil, healthy, ""},
	} {
		t.Run(what, func(t *testing.T) {
			found := diagnose.State(test.state, test.options)
			if got := codes(found); got != test.want {
				t.Fatalf("got %q, want %q: %+v", got, test.want, found)
			}
			if test.says != "" && !strings.Contains(found[0].Sentence+"\n"+found[0].Action, test.says) {
				t.Errorf("got %q and %q, want %q in it", found[0].Sentence, found[0].Action, test.says)
			}
		})
	}
}

// The journal is asked only about a name that may be held long or whose waiters may starve.
func TestTypicalIsAskedSparingly(t *testing.T) {
	asked := 0
	known := &diagnose.Options{Typical: func(string) (time.Duration, bool) { asked++; return 0, false }}
	for range 2 {
		diagnose.State(held(heldFor(15*time.Second)), known)
		diagnose.State(held(func(s *admin.State) {
			s.Holder.Held = 15 * time.Second
			waitFor(s, waiter("b", 5*time.Minute, admin.Part{}))
		}), known)
		diagnose.State(held(expects(time.Hour, 2*time.Hour)), known)
		diagnose.State(held(func(s *admin.State) { s.Term, s.Holder.Held = 7, time.Hour }), known)
	}
	if asked != 0 {
		t.Errorf("asked %d times, want never", asked)
	}
	if diagnose.State(held(heldFor(time.Minute)), known); asked != 1 {
		t.Errorf("asked %d times of a hold that is older than its ttl, want once", asked)
	}
}

// permitsLeft is a semaphore whose holder has this much left of 15 s, and since when it
// holds is not known.
func permitsLeft(d time.Duration) *admin.State {
	s := permits(4, 0)
	s.Holders[0].Remaining = d
	s.Holder = &s.Holders[0]
	return s
}

// expects is a holder that expects to hold for one time and holds for another.
func expects(expect, held time.Duration) func(*admin.State) {
	return func(s *admin.State) {
		s.Holder.Details, s.Holder.Held = &holdfast.Details{Expect: expect}, held
	}
}

func foreign(remaining time.Duration) func(*admin.State) {
	return func(s *admin.State) {
		s.Holder = &admin.Holder{Hash: "0123456789", Foreign: true, Remaining: remaining}
	}
}

func codes(found []diagnose.Diagnosis) string {
	var all []string
	for _, d := range found {
		all = append(all, string(d.Code))
	}
	return strings.Join(all, " ")
}

// survey is one of these states, as Admin.Survey would have made it.
func survey(states ...*admin.State) *diagnose.Report {
	s := &admin.Survey{}
	for _, state := range states {
		s.Names = append(s.Names, admin.Surveyed{State: state})
	}
	return diagnose.Survey(s, nil)
}

// named is a mutex that one process holds and others wait for.
func named(name, holder string, waited time.Duration, waiters ...string) *admin.State {
	return held(func(s *admin.State) {
		s.Name, s.Holder.Owner, s.Holder.Client = name, holder, "c"+holder
		for _, w := range waiters {
			s.Waiters = append(s.Waiters, waiter(w, waited, admin.Part{}))
		}
		s.Waiting = len(waiters)
	})
}

// shared is a semaphore without a free permit. Each holder has one permit.
func shared(name string, waiter1 string, holders ...string) *admin.State {
	s := named(name, "", time.Minute, waiter1)
	s.Kind, s.Size, s.Used, s.Holding = holdfast.KindSemaphore, len(holders), len(holders), len(holders)
	s.Waiters[0].Part.Permits = 1
	for _, h := range holders {
		s.Holders = append(s.Holders, admin.Holder{
			Owner: h, Client: "c" + h, Remaining: 15 * time.Second, TTL: 15 * time.Second, Part: admin.Part{Permits: 1},
		})
	}
	s.Holder = &s.Holders[0]
	return s
}

// reader makes a mutex an RWMutex that is read, and its first waiter a writer.
func reader(s *admin.State) *admin.State {
	s.Kind, s.Holding = holdfast.KindRWMutex, 1
	s.Holder.Part.Reads = true
	s.Holders = []admin.Holder{*s.Holder}
	s.Holder = &s.Holders[0]
	s.Waiters[0].Part.Writes = true
	for i := range s.Waiters[1:] {
		s.Waiters[i+1].Part.Reads = true
	}
	return s
}

// A diagnosis names the processes that wait for each other, on each name of the circle
// and in the same words. A process that makes progress, or only waits for a circle, is
// in none.
// A renewal is due after a third of the ttl, or of the claim window before the first.
func TestRenewal(t *testing.T) {
	second := time.Second
	for what, c := range map[string]struct {
		holder admin.Holder
		want   diagnose.Renewal
	}{
		"renewed now":        {admin.Holder{TTL: 15 * second, Remaining: 15 * second, Held: time.Minute}, diagnose.Renewal{Every: 5 * second, Due: 5 * second}},
		"renewed soon":       {admin.Holder{TTL: 15 * second, Remaining: 11 * second, Held: time.Minute}, diagnose.Renewal{Every: 5 * second, Due: second}},
		"due":                {admin.Holder{TTL: 15 * second, Remaining: 8 * second, Held: time.Minute}, diagnose.Renewal{Every: 5 * second, Due: -2 * second}},
		"late":               {admin.Holder{TTL: 15 * second, Remaining: 4 * second, Held: time.Minute}, diagnose.Renewal{Every: 5 * second, Due: -6 * second, Late: diagnose.RenewalsLate}},
		"expiring":           {admin.Holder{TTL: 15 * second, Remaining: second, Held: time.Minute}, diagnose.Renewal{Every: 5 * second, Due: -9 * second, Late: diagnose.Expiring}},
		"pushed":             {admin.Holder{TTL: 6 * second, Remaining: 1500 * time.Millisecond, Held: second / 2}, diagnose.Renewal{Every: 2 * second / 3, Due: 1500*time.Millisecond - (2*second - 2*second/3)}},
		"pushed and renewed": {admin.Holder{TTL: 6 * second, Remaining: 6 * second, Held: second}, diagnose.Renewal{Every: 2 * second, Due: 2 * second}},
		"exported":           {admin.Holder{TTL: 15 * second, Remaining: 4 * second, Held: time.Minute, Exported: true}, diagnose.Renewal{Late: diagnose.RenewalsLate}},
		"kept by MinHold":    {admin.Holder{TTL: 15 * second, Remaining: time.Hour, Held: time.Minute}, diagnose.Renewal{}},
		"no expiry":          {admin.Holder{TTL: 15 * second, Remaining: -1, Held: time.Minute}, diagnose.Renewal{}},
		"foreign":            {admin.Holder{Foreign: true, Remaining: 4 * second}, diagnose.Renewal{}},
	} {
		state := held(func(s *admin.State) { s.Holder = &c.holder })
		if got := diagnose.RenewalOf(state, state.Holder); got != c.want {
			t.Errorf("%s: got %+v, want %+v", what, got, c.want)
		}
	}
}

func TestDiagnoseDeadlock(t *testing.T) {
	for what, test := range map[string]struct {
		states []*admin.State
		in     string // names in a circle
		says   string
	}{
		"two": {
			[]*admin.State{named("x", "a", 2*time.Second, "b"), named("y", "b", 2*time.Second, "a")},
			"x y", "a holds x and waits for y; b holds y and waits for x",
		},
		"for a moment": {
			[]*admin.State{named("x", "a", 2*time.Second-1, "b"), named("y", "b", time.Minute, "a")}, "", "",
		},
		"three, and one that waits for them": {
			[]*admin.State{
				named("w", "d", time.Minute, "e"), named("x", "a", time.Minute, "b", "d"),
				named("y", "b", time.Minute, "c"), named("z", "c", time.Minute, "a"),
			},
			"x y z", "a holds x and waits for z; c holds z and waits for y; b holds y and waits for x",
		},
		"a chain": {
			[]*admin.State{named("x", "a", time.Minute, "b"), named("y", "b", time.Minute, "c"), named("z", "c", time.Minute, "d")}, "", "",
		},
		"two circles": {
			[]*admin.State{
				named("u", "c", time.Minute, "d"), named("v", "d", time.Minute, "c"),
				named("x", "a", time.Minute, "b"), named("y", "b", time.Minute, "a"),
			},
			"u v x y", "c holds u and waits for v",
		},
		"another permit comes": {
			[]*admin.State{shared("x", "b", "a", "c"), named("y", "b", time.Minute, "a")}, "", "",
		},
		"no permit comes": {
			[]*admin.State{shared("x", "b", "a", "c"), named("y", "b", time.Minute, "a", "c")},
			"x y", "a holds x and waits for y; b holds y and waits for x",
		},
		"a process that wants more": {
			[]*admin.State{shared("x", "a", "a", "b"), shared("y", "b", "b", "a")}, "", "",
		},
		"a reader behind a writer": { // b reads nothing; it stands behind w, who waits for a
			[]*admin.State{reader(named("x", "a", time.Minute, "w", "b")), named("y", "b", time.Minute, "a")},
			"x y", "a holds x and waits for y; b holds y and waits for x",
		},
		"readers": { // and nobody is between them
			[]*admin.State{
				func() *admin.State {
					s := reader(named("x", "a", time.Minute, "b"))
					s.Waiters[0].Part = admin.Part{Reads: true}
					return s
				}(),
				named("y", "b", time.Minute, "a"),
			}, "", "",
		},
		"it rests": {
			[]*admin.State{named("x", "a", time.Minute, "b"), func() *admin.State { s := named("y", "b", time.Minute, "a"); s.Holder.Cooldown = true; return s }()}, "", "",
		},
		"a permit comes, in the end": { // c waits for d0, who waits for d1, and so on to one who waits for nothing
			func() []*admin.State {
				all := []*admin.State{shared("x", "b", "a", "c"), named("y", "b", time.Minute, "a"), named("z0", "d0", time.Minute, "c")}
				for i := range 9 {
					all = append(all, named(fmt.Sprint("z", i+1), fmt.Sprint("d", i+1), time.Minute, fmt.Sprint("d", i)))
				}
				return all
			}(), "", "",
		},
		"who waits is dead, and another lives": {
			[]*admin.State{named("x", "a", time.Minute, "b"), func() *admin.State {
				s := named("y", "b", time.Minute, "a", "d")
				s.Waiters[0].Listening = false
				return s
			}()}, "", "",
		},
		"who waits is dead": {
			[]*admin.State{named("x", "a", time.Minute, "b"), func() *admin.State {
				s := named("y", "b", time.Minute, "a")
				s.Waiters[0].Listening = false
				return s
			}()}, "", "",
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := survey(test.states...)
			var in []string
			for _, n := range s.Names {
				if d := n.Problem(); d != nil && d.Code == diagnose.PossibleDeadlock {
					in = append(in, n.Name)
					if n.Name == "u" || test.says != "" && n.Name == "x" && !slices.Contains(in, "u") {
						if !strings.Contains(d.Sentence, test.says) || !strings.Contains(d.Action, "breaks the circle") && !strings.Contains(d.Action, "To break the circle") {
							t.Errorf("got %+v, want %q", *d, test.says)
						}
					}
				}
			}
			if got := strings.Join(in, " "); got != test.in {
				t.Errorf("in a circle: got %q, want %q", got, test.in)
			}
			if got := s.Counts.Codes[diagnose.PossibleDeadlock]; got != len(in) {
				t.Errorf("counted %d, want %d", got, len(in))
			}
		})
	}
}

// A survey counts, and a name that could not be looked at is trouble.
func TestSurveyCounts(t *testing.T) {
	s := diagnose.Survey(&admin.Survey{Names: []admin.Surveyed{
		{State: named("a", "a", time.Second, "b", "c")},
		{State: held(func(s *admin.State) { s.Holder.Cooldown = true })},
		{State: held(func(s *admin.State) { s.Holder = nil })},
		{State: held(foreign(-1))},
		{State: &admin.State{Name: "z"}, Err: errors.New("holdfast: z: NOPERM")},
	}}, nil)
	got, err := json.Marshal(s.Counts)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Held":2,"Cooldown":1,"Free":1,"Unreadable":1,"Waiting":2,"Problems":2,"Codes":{"cooldown":1,"held-healthy":1,"no-ttl":1,"store-error":1}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if d := s.Names[4].Problem(); d == nil || d.Code != diagnose.StoreError || d.Sentence != "it cannot be inspected: z: NOPERM" {
		t.Errorf("got %+v, want trouble with the store", d)
	}
}

// A name can hold anything, and an operator may paste the action: it is one word of a
// shell there.
func TestDiagnoseQuotes(t *testing.T) {
	for name, want := range map[string]string{
		"invoice:42": "TEXT invoice:42 ",
		"a b":        "TEXT 'a b' ",
		"$(reboot)":  "TEXT '$(reboot)' ",
		"it's;ls":    `TEXT 'it'\''s;ls' `,
		"-x":         "TEXT -- '-x' ",
		"~root":      "TEXT '~root' ",
	} {
		s := held(func(s *admin.State) { s.Name, s.Holder.Held = name, 2*time.Hour })
		found := diagnose.State(s, nil)
		if len(found) != 1 || !strings.Contains(found[0].Action, want) {
			t.Errorf("%q: got %+v, want %q", name, found, want)
		}
	}
}

// The codes are those of the documentation, problems first.
func TestCodes(t *testing.T) {
	problems := true
	for _, code := range diagnose.Codes() {
		if code.Problem() && !problems {
			t.Errorf("%s is a problem, and stands behind one that is none", code)
		}
		problems = code.Problem()
	}
	if problems || diagnose.Code("else").Problem() {
		t.Error("all are problems, want some that are none")
	}
}
