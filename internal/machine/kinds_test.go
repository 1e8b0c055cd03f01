package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A Semaphore, an RWMutex: docs/shared.md.
func TestSharedKinds(t *testing.T) {
	permits := func(c *Client) *Kind { return SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Permits, 3, 10) }
	writer := func(c *Client) *Kind {
		return SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Writer, WholeCapacity, WholeCapacity)
	}
	shrink := func(y *play) {
		u := y.turn("a")
		if waits, ended := y.p.Shrink(u, 1, y.now); ended != nil || !waits {
			y.say("shrunk: %v", ended)
		}
	}
	polls := inQueue(1)
	polls.PollIn = 300 * time.Millisecond
	few := granted(1, 1)
	few.Capacity = 5
	demote := func(y *play) { y.p.Shrink(y.turn("a"), 1, y.now) }
	perform(t, []scene{
		{name: "a part is asked for, renewed and given back", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{sleep(5 * time.Second), "listen; shared_renew #1"},
			{answer("shared_renew", renewed()), ""},
			{release("a"), "a ends: released; shared_unlock #1"},
			{answer("shared_unlock", released()), "release of a: ok"},
		}},
		{name: "it waits in the queue", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", heldByAnother()), "listen"},
			{confirmed, "shared_lock #1 10 wait 0"},
			{answer("shared_lock", inQueue(0)), ""},
			{grantPushed("#1", 1, 1, 0), "a gets 1"},
		}},
		{name: "behind others it polls when the answer says", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{answer("shared_lock", polls), ""},
			{wait(301 * time.Millisecond), ""},
			{wait(12 * time.Millisecond), "shared_lock #1 10 wait 70"},
		}},
		{name: "its renewals wait for a pipeline", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{both(pushed(wire.PushRevoked, "#1"), release("a")), "shared_renew #1; a ends: released; shared_unlock #1; shared_renew is not sent"},
		}},
		{name: "another size is reported, once", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", few), "a gets 1"},
			{warned, "1 warnings"},
			{enter("b"), "shared_lock #2 10 try 0"},
			{answer("shared_lock", few), "b gets 1"},
			{warned, "1 warnings"},
		}},
		{name: "no recall ends it", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{pushed(wire.PushRecall, "#1"), ""},
			{release("a"), "a ends: released; shared_unlock #1"},
		}},
		{name: "an id that is given up is taken out", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{leave("a"), "shared_unlock #1"},
		}},
		{name: "more than there is", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", wire.Answer{Word: wire.TooMany, Capacity: 2}), "a: holdfast: bad number of permits: asked for 3 of n, which has 2"},
		}},
		{name: "the name is of another kind", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", wire.Answer{Word: wire.OtherKind, Kind: "mutex"}), "a: another kind"},
		}},
		{name: "each renewal stores a smaller part", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 1"},
			{answer("shared_renew", renewed()), "smaller"},
			{sleep(5 * time.Second), "listen; shared_renew #1 0 1"},
			{answer("shared_renew", renewed()), ""},
			{release("a"), "a ends: released; shared_unlock #1"},
		}},
		{name: "it is asked for until it is answered", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 1"},
			{fail("shared_renew", errNetwork), ""},
			{wait(20 * time.Millisecond), "shared_renew #1 0 1"},
			{answer("shared_renew", renewed()), "smaller"},
		}},
		{name: "it is not exported before it is stored", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 1"},
			{export("a"), "export: holdfast: n: the smaller weight is not stored in Redis yet: export the lease after that"},
			{answer("shared_renew", renewed()), "smaller"},
			{export("a"), "a ends: lost: exported; the last token is 1"},
		}},
		{name: "a renewal of the lock key alone does not store it", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 1"},
			{answer("shared_renew", wire.Answer{Word: wire.Kept}), ""},
			{wait(110 * time.Millisecond), "shared_renew #1 0 1"},
			{answer("shared_renew", renewed()), "smaller"},
		}},
		{name: "a writer becomes a reader", kind: writer, beats: []beat{
			{enter("a"), "shared_lock #1 1073741824 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{demote, "shared_renew #1 0 1"},
			{answer("shared_renew", renewed()), "smaller"},
		}},
		{name: "it never grows", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{func(y *play) { y.p.Shrink(y.turn("a"), 5, y.now) }, ""},
		}},
		{name: "without an answer it is asked for again in time", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 1"},
			{wait(500 * time.Millisecond), "shared_renew #1 0 1"},
			{fail("shared_renew", errNetwork), ""},
			{func(y *play) { y.say("%v", y.local.ShrinkError()) }, "connection reset"},
		}},
		{name: "a renewal that was sent before proves nothing", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{func(y *play) { y.turn("a").Prolong(y.now, 0, 0) }, "shared_renew #1"},
			{func(y *play) { y.p.Shrink(y.turn("a"), 2, y.now) }, "shared_renew #1 0 2"},
			{shrink, "shared_renew #1 0 1"},
			{answer("shared_renew 1", renewed()), ""},
			{answer("shared_renew 2", renewed()), ""},
			{answer("shared_renew", renewed()), "smaller"},
		}},
		{name: "in a Cluster", settings: Settings{Sharded: true}, kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0 :{holdfast:n}"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 :{holdfast:n} 1"},
			{answer("shared_renew", renewed()), "smaller"},
			{release("a"), "a ends: released; shared_unlock #1 :{holdfast:n}"},
		}},
		{name: "a smaller part that is lost", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #1 0 1"},
			{answer("shared_renew", wire.Answer{Word: wire.Stolen}), "a ends: lost: stolen"},
		}},
	})
}

// A kind with an owner and a ttl of its own.
func TestDedicatedKinds(t *testing.T) {
	own := func(c *Client) *Kind { return DedicatedKind("me", lifetime.Terms{TTL: 6 * time.Second}) }
	perform(t, []scene{
		{name: "each call has a tenure", kind: own, beats: []beat{
			{enter("a"), "lock #1"},
			{enter("b"), "lock #2"},
		}},
		{name: "its ttl counts", kind: own, given: aHolds, beats: []beat{
			{wait(2 * time.Second), "listen; renew #1"},
			{sleep(4 * time.Second), "a ends: lost: expired"},
		}},
	})
}

// together makes a caller wait for each name, which has the name of its caller.
func together(who ...string) input {
	return func(y *play) {
		var names []string
		var keys []*keyspace.Keys
		var waiters []*LocalWaiter
		for _, name := range who {
			k, err := keyspace.KeysOf(y.p.Prefix, name)
			if err != nil {
				y.t.Fatal(err)
			}
			w := &LocalWaiter{Call: name, Try: name == "try"}
			y.waiters[name] = w
			names, keys, waiters = append(names, name), append(keys, k), append(waiters, w)
		}
		y.p.EnterTogether(names, keys, waiters, y.now)
	}
}

// Several names: a group asks by one script.
func TestGroups(t *testing.T) {
	// shares answers each part of the newest request.
	shares := func(all ...wire.Answer) input {
		return func(y *play) {
			for i, r := range y.request("multi_lock").Parts {
				y.p.HandleAnswer(r, all[i], nil, y.now)
			}
		}
	}
	failed := func(err error) input {
		return func(y *play) {
			for _, r := range y.request("multi_lock").Parts {
				y.p.HandleAnswer(r, wire.Answer{}, err, y.now)
			}
		}
	}
	unused := func(names ...string) input {
		return func(y *play) {
			if err := y.p.Unused(names, false, y.now); err != nil {
				y.say("%s", inWords(err))
			}
		}
	}
	busy := func(name string) input {
		return func(y *play) { y.say("%s", inWords(y.p.Unused([]string{name}, true, y.now))) }
	}
	passed := wire.Answer{Word: wire.Passed}
	perform(t, []scene{
		{name: "all at once", beats: []beat{
			{unused("a", "b"), ""},
			{together("a", "b"), "multi_lock #1 #2"},
			{shares(granted(1, 8), granted(5, 8)), "a gets 1; b gets 5"},
			{unused("a", "c"), "one by one"},
			{busy("a"), "held by "},
			{busy("c"), "ok"},
			{release("a"), "a ends: released; unlock #1"},
			{release("b"), "b ends: released; unlock #2"},
		}},
		{name: "or one by one", beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{shares(passed, heldByAnother()), "lock #1; listen"},
		}},
		{name: "a network that fails: all once more, with the same ids", beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{failed(errNetwork), ""},
			{wait(20 * time.Millisecond), "multi_lock #1 #2"},
			{shares(granted(1, 8), granted(5, 8)), "a gets 1; b gets 5"},
		}},
		{name: "a caller that goes leaves it", beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{leave("a"), "cancel #1"},
			{shares(granted(1, 8), granted(5, 8)), "cancel #1; b gets 5"},
		}},
		{name: "a name that was granted asks alone then", beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{shares(granted(1, 8), granted(5, 8)), "a gets 1; b gets 5"},
			{enterAt("a", "c"), "listen"},
			{release("a"), "a ends: released; unlock #1"},
			{answer("unlock", released()), "release of a: ok; lock #3"},
		}},
		{name: "a refusal may be about one name", beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{failed(driver.ServerError("ERR no")), "lock #1; lock #2"},
		}},
		{name: "a try is answered then", beats: []beat{
			{together("try", "b"), "multi_lock #1 #2"},
			{failed(driver.ServerError("ERR no")), "try: one by one; cancel #1; lock #2"},
		}},
		{name: "a sleep is no outage for any of them", settings: Settings{TTL: time.Second}, beats: []beat{
			{together("a", "b"), "multi_lock #1 #2"},
			{failed(errNetwork), ""},
			{sleep(time.Minute), "multi_lock #1 #2"},
			{failed(errNetwork), ""},
		}},
	})
}

// Elections: a candidate, its term and its announcements.
func TestElections(t *testing.T) {
	candidate := func(c *Client) *Kind { return c.CandidateKind("first") }
	elected := func(y *play) { y.p.Elected(y.turn("a"), y.now) }
	resigned := func(y *play) { y.p.Resigned(y.turn("a"), y.now) }
	proclaim := func(value string) input {
		return func(y *play) {
			call, ended := y.p.Proclaim(y.turn("a"), value)
			if ended != nil {
				y.say("proclaim: %s", inWords(ended.Err))
				return
			}
			y.say("to send: %s", y.words(call))
		}
	}
	perform(t, []scene{
		{name: "a leader announces, now and again", kind: candidate, given: aHolds, beats: []beat{
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: wire.Notified}), ""},
			{release("a"), "a ends: released; unlock #1"},
			{resigned, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
		{name: "an announcement is repeated until it is answered", kind: candidate, given: aHolds, beats: []beat{
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{fail("election_announce", errNetwork), ""},
			{wait(20 * time.Millisecond), "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
		{name: "a new value has the next number", kind: candidate, given: aHolds, beats: []beat{
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{proclaim("second"), "to send: election_announce #1 1 holdfast/push:election:{holdfast:n} 1 second"},
			{proclaim("third"), "to send: election_announce #1 1 holdfast/push:election:{holdfast:n} 2 third"},
			{func(y *play) { y.p.AnnounceAgain(y.turn("a"), y.now) }, "election_announce #1 1 holdfast/push:election:{holdfast:n} 2 third"},
			{release("a"), "a ends: released; unlock #1"},
			{proclaim("fourth"), "proclaim: released"},
		}},
		{name: "a term that is over announces no more by itself", kind: candidate, given: aHolds, beats: []beat{
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: wire.Notified}), ""},
			{sleep(15 * time.Second), "listen; a ends: lost: expired"},
			{sleep(5 * time.Minute), ""},
		}},
		{name: "an exporter announces nothing more", kind: candidate, given: aHolds, beats: []beat{
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: wire.Notified}), ""},
			{export("a"), "a ends: lost: exported; the last token is 8; the value is first"},
			{wait(6 * time.Minute), ""},
		}},
		{name: "the adopter gets its newest value", kind: candidate, given: aHolds, beats: []beat{
			{proclaim("second"), "to send: election_announce #1 1 holdfast/push:election:{holdfast:n} 1 second"},
			{export("a"), "a ends: lost: exported; the last token is 8; the value is second"},
		}},
		{name: "candidates of one process do not share a tenure", kind: candidate, beats: []beat{
			{enter("a"), "lock #1"},
			{enter("b"), "lock #2"},
		}},
		{name: "a term does not linger", settings: Settings{Linger: time.Hour}, kind: candidate, given: aHolds, beats: []beat{
			{release("a"), "a ends: released; unlock #1"},
		}},
		{name: "a long one is announced again", settings: Settings{TTL: time.Hour}, kind: candidate, given: aHoldsSubscribed, beats: []beat{
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: wire.Notified}), ""},
			{sleep(5 * time.Minute), "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
	})
}
