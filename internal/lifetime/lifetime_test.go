package lifetime_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/lifetime"
)

const (
	start = clock.Instant(time.Hour)
	s     = time.Second
	ttl   = 15 * s
)

func at(d time.Duration) clock.Instant { return start.Add(d) }

// least is a jitter that adds nothing.
func least(time.Duration) time.Duration { return 0 }

// granted is a tenure whose grant set that ttl at start.
func granted(terms lifetime.Terms, of time.Duration) *lifetime.Lifetime {
	l := &lifetime.Lifetime{Terms: &terms}
	l.Prolong(start, of, least)
	return l
}

// renew sends a renewal for the next turn, and answers it 10 ms later.
func renew(l *lifetime.Lifetime, next lifetime.Limits, extend time.Duration, when time.Duration) {
	r := lifetime.Renewal{MinTTL: max(l.RequiredTTL(next, at(when)), extend), Extend: extend}
	l.Sent(r, at(when))
	l.Renewed(r, at(when), at(when+10*time.Millisecond), least)
}

func TestBeforeTurn(t *testing.T) {
	plain, fixed := lifetime.Terms{TTL: ttl}, lifetime.Terms{TTL: ttl, NoRenew: true}
	hour := lifetime.Limits{MinHold: time.Hour}
	for _, c := range []struct {
		name  string
		terms lifetime.Terms
		of    time.Duration // the ttl of the grant
		given func(l *lifetime.Lifetime)
		next  lifetime.Limits
		now   time.Duration
		want  lifetime.Step
	}{
		{name: "a plain turn", terms: plain, of: ttl, want: lifetime.GiveTurn},
		{name: "MaxHold needs nothing", terms: plain, of: ttl, next: lifetime.Limits{MaxHold: time.Hour}, want: lifetime.GiveTurn},
		{name: "a third of the ttl is left", terms: plain, of: ttl, now: 9840 * time.Millisecond, want: lifetime.GiveTurn},
		{name: "less than that is left", terms: plain, of: ttl, now: 9849 * time.Millisecond, want: lifetime.TopUp},
		{name: "MinHold within the ttl", terms: plain, of: ttl, next: lifetime.Limits{MinHold: ttl}, want: lifetime.GiveTurn},
		{name: "MinHold later within the ttl", terms: plain, of: ttl, next: lifetime.Limits{MinHold: ttl}, now: 1, want: lifetime.Renew},
		{name: "MinHold beyond the claim window", terms: plain, of: 2 * s, next: lifetime.Limits{MinHold: 5 * s}, want: lifetime.Renew},
		{name: "MinHold after its renewal", terms: plain, of: ttl, given: func(l *lifetime.Lifetime) { renew(l, hour, 0, 0) }, next: hour, now: 10 * time.Millisecond, want: lifetime.GiveTurn},
		{name: "MinHold some time after its renewal", terms: plain, of: ttl, given: func(l *lifetime.Lifetime) { renew(l, hour, 0, 0) }, next: hour, now: 2 * s, want: lifetime.Renew},
		{name: "MinHold after a plain renewal", terms: plain, of: ttl, given: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, 0) }, next: lifetime.Limits{MinHold: 1}, want: lifetime.Release},
		{name: "a plain turn after a plain renewal", terms: plain, of: ttl, given: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, 0) }, want: lifetime.GiveTurn},
		{name: "before MinHold of the last turn has passed", terms: plain, of: ttl, given: func(l *lifetime.Lifetime) { l.StartTurn(lifetime.Limits{MinHold: 5 * s}, start) }, now: 5*s - 1, want: lifetime.Release},
		{name: "after that", terms: plain, of: ttl, given: func(l *lifetime.Lifetime) { l.StartTurn(lifetime.Limits{MinHold: 5 * s}, start) }, now: 5 * s, want: lifetime.GiveTurn},
		{name: "NoRenew after a lock", terms: fixed, of: ttl, want: lifetime.GiveTurn},
		{name: "NoRenew after a push", terms: fixed, of: 2 * s, want: lifetime.Renew},
		{name: "NoRenew after a push and a renewal", terms: fixed, of: 2 * s, given: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, 0) }, want: lifetime.GiveTurn},
		{name: "NoRenew with MinHold after a renewal", terms: fixed, of: 2 * s, given: func(l *lifetime.Lifetime) { renew(l, hour, 0, 0) }, next: hour, want: lifetime.GiveTurn},
	} {
		l := granted(c.terms, c.of)
		if c.given != nil {
			c.given(l)
		}
		if got := l.BeforeTurn(c.next, at(c.now)); got != c.want {
			t.Errorf("%s: got step %d, want %d", c.name, got, c.want)
		}
	}
}

func TestStartTurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		asked lifetime.Limits
		until clock.Instant
		grace time.Duration
		cool  clock.Instant
	}{
		{name: "no limits", until: clock.Never},
		{name: "MinHold", asked: lifetime.Limits{MinHold: 5 * s}, until: clock.Never, cool: at(6 * s)},
		{name: "MaxHold", asked: lifetime.Limits{MaxHold: 5 * s}, until: at(6 * s), grace: 2 * s},
		{name: "Grace", asked: lifetime.Limits{MaxHold: 5 * s, Grace: 7 * s}, until: at(6 * s), grace: 7 * s},
	} {
		l := granted(lifetime.Terms{TTL: ttl}, ttl)
		due := l.RenewAt
		until, grace := l.StartTurn(c.asked, at(s))
		if until != c.until || grace != c.grace || l.CoolUntil != c.cool {
			t.Errorf("%s: got an end of %v, a grace of %v and a cool-down until %v, want %v, %v and %v", c.name, until, grace, l.CoolUntil, c.until, c.grace, c.cool)
		}
		if l.RenewAt != due {
			t.Errorf("%s: it is not renewed", c.name)
		}
	}
}

// When is the name unlocked after the end of a turn, if its lease is not released?
func TestUnlockAfter(t *testing.T) {
	never := time.Duration(-1)
	for _, c := range []struct {
		why           lifetime.Cause
		renews, fixed time.Duration
	}{
		{lifetime.Expired, never, 0},
		{lifetime.Revoked, never, ttl},
		{lifetime.MaxHold, 3 * s, 3 * s},
		{lifetime.Gone, never, never},
	} {
		for noRenew, want := range map[bool]time.Duration{false: c.renews, true: c.fixed} {
			got, ok := granted(lifetime.Terms{TTL: ttl, NoRenew: noRenew}, ttl).UnlockAfter(c.why, 3*s)
			if !ok {
				got = never
			}
			if got != want {
				t.Errorf("%s, NoRenew %v: got %v, want %v", c.why, noRenew, got, want)
			}
		}
	}
}

func TestRequire(t *testing.T) {
	l := granted(lifetime.Terms{TTL: ttl}, ttl)
	expect := func(what string, want time.Duration) {
		t.Helper()
		if got := max(l.CoolUntil-start, 0); got != clock.Instant(want) {
			t.Errorf("%s: it cools down until %v, want %v", what, time.Duration(got), want)
		}
	}
	if !l.Require(at(ttl)) {
		t.Error("the lock key lives until the end of the ttl")
	}
	if l.Require(at(ttl + 1)) {
		t.Error("the lock key does not live longer")
	}
	l.Require(at(5 * s))
	expect("the latest counts", ttl+1)
	l.Drop(at(ttl + 1))
	expect("the latest was dropped", ttl)
	l.Drop(at(7 * s))
	expect("none was dropped", ttl)
	l.Drop(at(ttl))
	expect("one is left", 5*s)
	l.Waive()
	expect("all were waived", 0)
	l.Drop(at(5 * s))
	expect("dropped after that", 0)
}

// The lock key outlives MinHold by the MinTTL of renewals.
func TestRequiredTTL(t *testing.T) {
	next := lifetime.Limits{MinHold: 20 * s}
	for _, c := range []struct {
		name    string
		noRenew bool
		given   func(l *lifetime.Lifetime)
		next    lifetime.Limits
		now     time.Duration
		want    time.Duration
	}{
		{name: "none"},
		{name: "of the next turn", next: next, want: 20 * s},
		{name: "of the next turn after a plain renewal", given: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, 0) }, next: next, want: 0},
		{name: "of the present turn", given: func(l *lifetime.Lifetime) { l.StartTurn(next, start) }, now: 5 * s, want: 15 * s},
		{name: "of the present turn after a plain renewal", given: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, 0); l.Require(at(20 * s)) }, now: 5 * s, want: 15 * s},
		{name: "after its end", given: func(l *lifetime.Lifetime) { l.StartTurn(next, start) }, now: 20 * s, want: 0},
		{name: "of NoRenew", noRenew: true, want: ttl},
		{name: "of NoRenew with a longer MinHold", noRenew: true, next: next, want: 20 * s},
		{name: "of NoRenew with a shorter one", noRenew: true, next: lifetime.Limits{MinHold: s}, want: ttl},
	} {
		l := granted(lifetime.Terms{TTL: ttl, NoRenew: c.noRenew}, ttl)
		if c.given != nil {
			c.given(l)
		}
		if got := l.RequiredTTL(c.next, at(c.now)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A renewal that was made before MinHold was asked for cuts the ttl of the lock key short: the next one follows at once.
func TestLatePlainRenewal(t *testing.T) {
	l := granted(lifetime.Terms{TTL: ttl}, ttl)
	plain := lifetime.Renewal{}
	l.Sent(plain, at(s))
	if l.Require(at(time.Hour)) {
		t.Fatal("the lock key does not live for an hour")
	}
	renew(l, lifetime.Limits{}, 0, 2*s)
	if due := at(3 * s); l.RenewAt <= due {
		t.Errorf("the renewal with MinTTL is followed by another one at %v", time.Duration(l.RenewAt-start))
	}
	l.Renewed(plain, at(s), at(3*s), least)
	if due := at(3 * s); l.RenewAt != due {
		t.Errorf("after the late one the next is due at %v, want %v", time.Duration(l.RenewAt-start), time.Duration(due-start))
	}
}

// An answer moves the deadline as far as the request asked for, but never back.
func TestDeadline(t *testing.T) {
	margin := func(d time.Duration) time.Duration { return d - d/100 - 2*time.Millisecond }
	for _, c := range []struct {
		name    string
		noRenew bool
		turn    bool
		then    func(l *lifetime.Lifetime)
		want    time.Duration
	}{
		{name: "the grant", want: margin(ttl)},
		{name: "an older grant", then: func(l *lifetime.Lifetime) { l.Prolong(at(-s), ttl, least) }, want: margin(ttl)},
		{name: "a claim window", then: func(l *lifetime.Lifetime) { l.Prolong(at(s), 2*s, least) }, want: margin(ttl)},
		{name: "a renewal", then: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, s) }, want: s + margin(ttl)},
		{name: "a longer lock key does not prolong the lease", then: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{MinHold: time.Hour}, 0, s) }, want: s + margin(ttl)},
		{name: "NoRenew: the renewal before the turn", noRenew: true, then: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, s) }, want: s + margin(ttl)},
		{name: "NoRenew: a renewal within the turn", noRenew: true, turn: true, then: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 0, s) }, want: margin(ttl)},
		{name: "NoRenew: Extend", noRenew: true, turn: true, then: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, time.Minute, s) }, want: s + margin(time.Minute)},
		{name: "NoRenew: a shorter Extend", noRenew: true, turn: true, then: func(l *lifetime.Lifetime) { renew(l, lifetime.Limits{}, 5*s, s) }, want: margin(ttl)},
	} {
		l := granted(lifetime.Terms{TTL: ttl, NoRenew: c.noRenew}, ttl)
		if c.turn {
			l.StartTurn(lifetime.Limits{}, start)
		}
		if c.then != nil {
			c.then(l)
		}
		if got := l.Ends().Sub(start); got != c.want {
			t.Errorf("%s: it ends after %v, want %v", c.name, got, c.want)
		}
	}
}

// A lock key has certainly expired when the longest request that was sent can prolong it no more.
func TestGoneBy(t *testing.T) {
	l := granted(lifetime.Terms{TTL: ttl}, ttl)
	l.Sent(lifetime.Renewal{MinTTL: time.Hour}, start)
	l.Sent(lifetime.Renewal{}, at(s))
	if got, want := l.GoneBy().Sub(start), time.Hour; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := l.Expiry.Sub(start), s+ttl; got != want {
		t.Errorf("Expiry: got %v, want %v", got, want)
	}
}

// Two renewals may fail before the deadline, and failures are repeated soon.
func TestRenewAt(t *testing.T) {
	l := granted(lifetime.Terms{TTL: ttl}, ttl)
	due := func(what string, want time.Duration) {
		t.Helper()
		if got := l.RenewAt.Sub(start); got != want {
			t.Errorf("%s: due after %v, want %v", what, got, want)
		}
	}
	due("after the grant", 5*s)
	if l.Try(at(5*s), least) {
		t.Error("it is checked, not renewed")
	}
	due("while the first is under way", 7500*time.Millisecond)
	l.Failed(at(6*s), least)
	due("after an error", 6*s+5*time.Millisecond)
	l.Try(l.RenewAt, least)
	for range 20 {
		l.Failed(at(7*s), least)
	}
	due("after many errors", 7*s+10*time.Millisecond)
	renew(l, lifetime.Limits{}, 0, 8*s)
	due("after an answer", 13*s)
	if l.Failures != 0 {
		t.Errorf("%d failures after an answer", l.Failures)
	}
	if got, want := l.Slack(l.Ends().Add(-ttl/2)), 0.5; got != want {
		t.Errorf("half of the ttl is left: got a slack of %v, want %v", got, want)
	}
}

// A turn with NoRenew is checked only for a reason, and then until an answer settles it.
func TestFixed(t *testing.T) {
	l := granted(lifetime.Terms{TTL: ttl, NoRenew: true}, ttl)
	expect := func(what string, want clock.Instant) {
		t.Helper()
		if l.RenewAt != want {
			t.Errorf("%s: due at %v, want %v", what, l.RenewAt.Sub(start), want.Sub(start))
		}
	}
	expect("before the turn it is renewed", at(5*s))
	l.StartTurn(lifetime.Limits{}, start)
	expect("the turn", clock.Never)
	renew(l, lifetime.Limits{}, time.Hour, s)
	l.Settle()
	expect("Extend", clock.Never)
	if !l.Try(at(2*s), least) {
		t.Error("it is renewed, not checked")
	}
	expect("a check, though the ttl is an hour", at(5*s))
	l.Verified(at(2*s - 1))
	expect("an older answer", at(5*s))
	l.Failed(at(3*s), least)
	expect("an error", at(3*s+5*time.Millisecond))
	l.Verified(at(2 * s))
	expect("its answer", clock.Never)
	l.Failed(at(4*s), least)
	expect("an error of Extend", at(4*s+5*time.Millisecond))
	l.Try(l.RenewAt, least)
	renew(l, lifetime.Limits{}, time.Hour, 4*s)
	l.Settle()
	expect("an Extend that was sent before the check", at(7*s))
}

func TestPatience(t *testing.T) {
	for _, c := range []struct{ ttl, now, want time.Duration }{
		{15 * s, 0, 3 * s},
		{15 * s, 13848 * time.Millisecond, s},
		{15 * s, 14849 * time.Millisecond, 50 * time.Millisecond},
		{4 * s, 0, 2 * s},
	} {
		if got := granted(lifetime.Terms{TTL: c.ttl}, c.ttl).Patience(at(c.now)); got != c.want {
			t.Errorf("ttl %v, after %v: got %v, want %v", c.ttl, c.now, got, c.want)
		}
	}
}
