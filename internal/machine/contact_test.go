package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// outage says whether the store seems unreachable to a caller whose deadline ends now.
func outage(caller string) input {
	return func(y *play) { y.say("%v", y.waiters[caller].Outage(y.now)) }
}

// waited says what is known about the wait of a caller that ends now.
func waited(caller string) input {
	return func(y *play) {
		f := y.waiters[caller].Waited(y.now)
		who := f.Owner
		if f.Foreign {
			who = "foreign"
		}
		if f.Cooldown {
			who = "cool-down " + who
		}
		y.say("%s: %v, held by %q, place %d of %d", f.Name, f.Took, who, f.Position, f.Waiters)
	}
}

// enterKind makes a caller wait with another kind.
func enterKind(caller string, kind func(c *Client) *Kind) input {
	return func(y *play) {
		y.kind = kind(y.p)
		y.enter(&LocalWaiter{Call: caller})
		y.kind = nil
	}
}

// The store seems unreachable if a request about the name has failed or was out for 100 ms, and
// no answer about it came in that time; never while this Client holds the name.
func TestOutage(t *testing.T) {
	own := func(c *Client) *Kind { return DedicatedKind("own", c.defaultKind.Terms) }
	permits := func(c *Client) *Kind { return SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Permits, 1, 10) }
	noRenew := func(c *Client) *Kind {
		return DedicatedKind("own", lifetime.Terms{TTL: c.TTL, NoRenew: true})
	}
	polls := heldByAnother()
	polls.PollIn = 30 * time.Millisecond
	perform(t, []scene{
		{name: "its own request has no answer", beats: []beat{
			{enter("a"), "lock #1"},
			{wait(99 * time.Millisecond), ""},
			{outage("a"), "<nil>"},
			{wait(time.Millisecond), ""},
			{outage("a"), "no answer in time"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{outage("a"), "<nil>"},
		}},
		{name: "its own request has failed", beats: []beat{
			{enter("a"), "lock #1"},
			{fail("lock", errNetwork), ""},
			{outage("a"), "connection reset"},
		}},
		{name: "an answer that is no answer to a lock", beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", renewed()), ""},
			{outage("a"), `lock was answered "renewed"`},
		}},
		{name: "an answer ends that", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{fail("lock", errNetwork), ""},
			{wait(20 * time.Millisecond), "lock #1 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{wait(5 * time.Second), ""},
			{outage("a"), "<nil>"},
		}},
		{name: "the request of the waiter before it", beats: []beat{
			{enter("a"), "lock #1"},
			{wait(90 * time.Millisecond), ""},
			{enter("b"), "listen"},
			{wait(10 * time.Millisecond), ""},
			{outage("b"), "no answer in time"},
		}},
		{name: "the unlock of the tenure before it", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{wait(4 * time.Second), ""},
			{outage("b"), "<nil>"},
			{release("a"), "a ends: released; unlock #1 #2"},
			{wait(99 * time.Millisecond), ""},
			{outage("b"), "<nil>"},
			{wait(time.Millisecond), ""},
			{outage("b"), "no answer in time"},
			{answer("unlock", inQueue(0)), "release of a: ok"},
			{wait(4 * time.Second), ""},
			{outage("b"), "<nil>"},
		}},
		{name: "never while this Client holds the name", given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{sleep(5 * time.Second), "renew #1"},
			{fail("renew", errNetwork), ""},
			{outage("b"), "<nil>"},
			{later(time.Second), ""},
			{outage("b"), "<nil>"},
		}},
		{name: "the renewals of the tenure before it count when it ends", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{sleep(5 * time.Second), "renew #1"},
			{later(100 * time.Millisecond), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{outage("b"), "no answer in time"},
		}},
		{name: "and so do those that failed", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{sleep(5 * time.Second), "renew #1"},
			{fail("renew", errNetwork), ""},
			{release("a"), "a ends: released; unlock #1 #2"},
			{outage("b"), "connection reset"},
		}},
		{name: "and one that a caller asked for", given: aHoldsSubscribed, beats: []beat{
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("b"), ""},
			{func(y *play) { y.turn("a").Prolong(y.now, 8, 0) }, "renew #1 8"},
			{release("a"), "a ends: released; unlock #1 #2"},
			{later(100 * time.Millisecond), ""},
			{outage("b"), "no answer in time"},
		}},
		{name: "a grant that replicas have not acknowledged is no hold", settings: Settings{WaitReplicas: 1}, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "renew #1 4096"},
			{later(100 * time.Millisecond), ""},
			{outage("a"), "no answer in time"},
		}},
		{name: "an answer to another request does not end the wait for its own", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{enterKind("b", own), "lock #2 wait 0"},
			{wait(50 * time.Millisecond), ""},
			{answer("lock 1", inQueue(0)), ""},
			{wait(99 * time.Millisecond), ""},
			{outage("b"), "<nil>"},
			{wait(time.Millisecond), ""},
			{outage("b"), "no answer in time"},
			{outage("a"), "<nil>"},
		}},
		{name: "an older request that fails behind an answer", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{later(time.Millisecond), ""},
			{enterKind("b", own), "lock #2 wait 0"},
			{later(time.Millisecond), ""},
			{answer("lock 2", inQueue(1)), ""},
			{later(time.Millisecond), ""},
			{leave("a"), "cancel #1"},
			{answer("cancel", released()), ""},
			{fail("lock 1", errNetwork), "cancel #1"},
			{outage("b"), "<nil>"},
		}},
		{name: "another kind holds the name", beats: []beat{
			{enterKind("a", own), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enter("b"), "lock #2"},
			{later(100 * time.Millisecond), ""},
			{outage("b"), "<nil>"},
			{release("a"), "a ends: released; unlock #1"},
			{outage("b"), "no answer in time"},
		}},
		{name: "another kind waits, and its Client holds the name", given: aHolds, beats: []beat{
			{enterKind("b", own), "lock #2"},
			{fail("lock", errNetwork), ""},
			{outage("b"), "<nil>"},
			{release("a"), "a ends: released; unlock #1"},
			{outage("b"), "connection reset"},
		}},
		{name: "a part is held", beats: []beat{
			{enterKind("a", permits), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{enterKind("b", permits), "shared_lock #2 10 try 0"},
			{enterKind("c", permits), "shared_lock #3 10 try 0"},
			{later(100 * time.Millisecond), ""},
			{outage("b"), "<nil>"},
			{release("a"), "a ends: released; shared_unlock #1"},
			{outage("b"), "no answer in time"},
			{leave("c"), "shared_unlock #3"},
			{answer("shared_unlock", released()), ""},
			{outage("b"), "<nil>"},
		}},
		{name: "a stale id of a shared kind is cleaned up", beats: []beat{
			{confirmed, ""},
			{enterKind("b", permits), "shared_lock #1 10 wait 0"},
			{enterKind("c", permits), "shared_lock #2 10 wait 0"},
			{leave("c"), "shared_unlock #2"},
			{answer("shared_unlock", released()), ""},
			{func(y *play) {
				a := inQueue(0)
				a.Holder = y.id("#2")
				answer("shared_lock 1", a)(y)
			}, "shared_unlock #2"},
			{later(100 * time.Millisecond), ""},
			{outage("b"), "no answer in time"},
			{answer("shared_unlock", released()), ""},
			{outage("b"), "<nil>"},
		}},
		{name: "a check is a request", beats: []beat{
			{confirmed, ""},
			{enterKind("a", noRenew), "lock #1 wait 0"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{enterKind("b", own), "lock #2 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{sleep(time.Second), ""},
			{func(y *play) { y.turn("a").Check(y.now) }, "held #1"},
			{later(100 * time.Millisecond), ""},
			{release("a"), "a ends: released; unlock #1"},
			{outage("b"), "no answer in time"},
		}},
		{name: "a group asks", beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{later(100 * time.Millisecond), ""},
			{outage("a"), "no answer in time"},
			{func(y *play) {
				y.kind = own(y.p)
				enterAt("a", "c")(y)
			}, "lock #3"},
			{later(50 * time.Millisecond), ""},
			{outage("c"), "no answer in time"},
		}},
		{name: "a refused cleanup is an answer", beats: []beat{
			{confirmed, ""},
			{enterKind("a", own), "lock #1 wait 0"},
			{enterKind("b", own), "lock #2 wait 0"},
			{answer("lock", inQueue(0)), ""},
			{later(100 * time.Millisecond), ""},
			{leave("a"), "cancel #1"},
			{outage("b"), "<nil>"},
			{later(100 * time.Millisecond), ""},
			{outage("b"), "no answer in time"},
			{fail("cancel", driver.ServerError("NOPERM no permissions")), ""},
			{outage("b"), "<nil>"},
		}},
		{name: "a quorum without a majority", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{later(100 * time.Millisecond), ""},
			{outage("a"), "no answer in time"},
			{func(y *play) { y.request("lock").Answered(wire.Answer{}, errNetwork, y.now) }, ""},
			{outage("a"), "connection reset"},
			{wait(20 * time.Millisecond), "lock #2 wait 0"},
			{func(y *play) { y.request("lock").Answered(polls, nil, y.now) }, ""},
			{outage("a"), "<nil>"},
			{wait(30 * time.Millisecond), "lock #3 wait 0"},
			{outage("a"), "<nil>"},
		}},
	})
}

// What is known about a wait when it ends.
func TestWaitThatEnds(t *testing.T) {
	foreign, free := inQueue(0), inQueue(0)
	foreign.Holder, free.Holder, free.PTTL = "redlock", "", wire.NoKey
	cooling := inQueue(0)
	cooling.Holder = "cooldown|worker-3"
	some := heldByAnother()
	some.Waiting = 3
	perform(t, []scene{
		{name: "nothing is known", beats: []beat{
			{enter("a"), "lock #1"},
			{wait(time.Second), ""},
			{waited("a"), `n: 1s, held by "", place 0 of 1`},
		}},
		{name: "it is in the queue", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", inQueue(2)), ""},
			{enter("b"), ""},
			{waited("a"), `n: 0s, held by "another", place 3 of 4`},
			{waited("b"), `n: 0s, held by "another", place 4 of 4`},
		}},
		{name: "it is not in the queue yet", beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", some), "listen"},
			{waited("a"), `n: 0s, held by "another", place 0 of 4`},
		}},
		{name: "this Client has the name", settings: Settings{Owner: "web-1"}, given: aHoldsSubscribed, beats: []beat{
			{enter("b"), ""},
			{enter("c"), ""},
			{enter("d"), ""},
			{leave("c"), ""},
			{waited("d"), `n: 0s, held by "web-1", place 2 of 2`},
			{pushed(wire.PushRecall, "#1"), ""},
			{enter("e"), ""},
			{waited("d"), `n: 0s, held by "web-1", place 2 of 3`},
			{waited("e"), `n: 0s, held by "web-1", place 0 of 3`},
			{release("a"), "a ends: released; b gets 2"},
			{waited("b"), `n: 0s, held by "", place 0 of 0`},
		}},
		{name: "what was said before a lease that was lost", given: aWaits, beats: []beat{
			{grantPushed("#1", 1, 8, 0), "a gets 1"},
			{enter("b"), ""},
			{later(15 * time.Second), ""},
			{func(y *play) { y.turn("a").HasEnded(y.now) }, "a ends: lost: expired; lock #2 wait 0"},
			{waited("b"), `n: 15s, held by "", place 0 of 1`},
			{answer("lock", inQueue(0)), ""},
			{waited("b"), `n: 15s, held by "another", place 1 of 1`},
		}},
		{name: "a quorum", quorum: true, beats: []beat{
			{enter("a"), "lock #1 wait 0"},
			{func(y *play) {
				a := heldByAnother()
				a.PollIn = 30 * time.Millisecond
				y.request("lock").Answered(a, nil, y.now)
			}, ""},
			{wait(30 * time.Millisecond), "lock #2 wait 0"},
			{waited("a"), `n: 30ms, held by "another", place 0 of 1`},
		}},
		{name: "a foreign holder", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", foreign), ""},
			{waited("a"), `n: 0s, held by "foreign", place 1 of 1`},
		}},
		{name: "no holder", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", free), ""},
			{waited("a"), `n: 0s, held by "", place 1 of 1`},
		}},
		{name: "a cool-down", beats: []beat{
			{confirmed, ""},
			{enter("a"), "lock #1 wait 0"},
			{answer("lock", cooling), ""},
			{waited("a"), `n: 0s, held by "cool-down worker-3", place 1 of 1`},
		}},
	})
}

// A call may be rejected at the moment when its context ends.
func TestWaitThatIsRejected(t *testing.T) {
	for _, test := range []struct{ err, want error }{
		{wire.Failure("n", wire.ErrUnreachable, errNetwork), errNetwork}, {wire.ErrUnreachable, wire.ErrUnreachable},
		{wire.ErrClosed, nil}, {nil, nil},
	} {
		f := &Waited{}
		if f.Rejected(test.err); f.Outage != test.want { //nolint:errorlint // that very one
			t.Errorf("%v: got %v, want %v", test.err, f.Outage, test.want)
		}
	}
}

// A Client remembers nothing about names that nobody uses.
func TestContactsAreForgotten(t *testing.T) {
	own := func(c *Client) *Kind { return DedicatedKind("own", c.defaultKind.Terms) }
	count := func(y *play) { y.say("%d contacts", len(y.p.contacts)) }
	perform(t, []scene{{name: "two", beats: []beat{
		{enterKind("a", own), "lock #1"},
		{answer("lock", granted(1, 8)), "a gets 1"},
		{enterKind("b", own), "lock #2"},
		{count, "1 contacts"},
		{release("a"), "a ends: released; unlock #1"},
		{answer("unlock", released()), "release of a: ok"},
		{count, "1 contacts"},
		{leave("b"), "cancel #2"},
		{count, "0 contacts"},
	}}})
}

// A place behind many is counted one by one only at first.
func TestPlaceBehindMany(t *testing.T) {
	var q localQueue
	var all []*LocalWaiter
	for i := range 1000 {
		all = append(all, &LocalWaiter{number: int64(i)})
		q.push(all[i])
	}
	q.remove(all[998])
	q.remove(all[3])
	for i, want := range map[int]int{0: 0, 100: 99, 500: 500, 999: 997} {
		if got := q.before(all[i]); got != want {
			t.Errorf("%d: got %d in front, want %d", i, got, want)
		}
	}
}
