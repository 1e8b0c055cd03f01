package machine

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A Semaphore, an RWMutex: docs/shared.md.
func TestSharedKinds(t *testing.T) {
	permits := func(p *Process) *Kind { return p.SharedKind(keyspace.Permits, 3, 10) }
	writer := func(p *Process) *Kind { return p.SharedKind(keyspace.Writer, WholeCapacity, WholeCapacity) }
	shrink := func(y *play) {
		u := y.turn("a")
		if waits, ended := y.p.Shrink(u, keyspace.Permits, 1, y.now); ended != nil || !waits {
			y.say("shrunk: %v", ended)
		}
	}
	demote := func(y *play) { y.p.Shrink(y.turn("a"), keyspace.Reader, 1, y.now) }
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
		{name: "no recall ends it", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{pushed("recall", "#1"), ""},
			{release("a"), "a ends: released; shared_unlock #1"},
		}},
		{name: "what is given up is taken out", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{leave("a"), "shared_unlock #1"},
		}},
		{name: "more than there is", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", wire.Answer{Word: "too many", Capacity: 2}), "a: holdfast: bad number of permits: asked for 3 of n, which has 2"},
		}},
		{name: "the name is of another kind", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", wire.Answer{Word: "other kind", Kind: "mutex"}), "a: another kind"},
		}},
		{name: "a smaller part has another id", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #2 0 #1"},
			{answer("shared_renew", renewed()), "smaller"},
			{sleep(5 * time.Second), "listen; shared_renew #2 0 #1"},
			{release("a"), "a ends: released; shared_unlock #2 #1"},
		}},
		{name: "it is asked for until it is answered", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #2 0 #1"},
			{fail("shared_renew", errNetwork), ""},
			{wait(20 * time.Millisecond), "shared_renew #2 0 #1"},
			{answer("shared_renew", renewed()), "smaller"},
		}},
		{name: "a late lock of the former id is replaced by a renewal", kind: permits, beats: []beat{
			{confirmed, ""},
			{enter("a"), "shared_lock #1 10 wait 0"},
			{wait(2100 * time.Millisecond), "shared_lock #1 10 wait 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #2 0 #1"},
			{answer("shared_renew", renewed()), "smaller"},
			{answer("shared_lock 1", inQueue(0)), "shared_renew #2 0 #1"},
			{release("a"), "a ends: released; shared_unlock #2 #1"},
			{answer("shared_unlock 1", released()), "release of a: ok; shared_unlock #1"},
		}},
		{name: "a writer becomes a reader", kind: writer, beats: []beat{
			{enter("a"), "shared_lock #1 1073741824 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{demote, "shared_renew #2 0 #1"},
			{answer("shared_renew", renewed()), "smaller"},
		}},
		{name: "a smaller part that is lost", kind: permits, beats: []beat{
			{enter("a"), "shared_lock #1 10 try 0"},
			{answer("shared_lock", granted(1, 1)), "a gets 1"},
			{shrink, "shared_renew #2 0 #1"},
			{answer("shared_renew", wire.Answer{Word: "stolen"}), "shared_unlock #2 #1; a ends: lost: stolen"},
		}},
	})
}

// Several names: a group asks by one script.
func TestGroups(t *testing.T) {
	together := func(who ...string) input {
		return func(y *play) {
			var names []string
			var keys []*keyspace.Keys
			var waiters []*Waiter
			for _, name := range who {
				k, err := keyspace.KeysOf(y.p.Prefix, name)
				if err != nil {
					y.t.Fatal(err)
				}
				w := &Waiter{Call: name}
				y.waiters[name] = w
				names, keys, waiters = append(names, name), append(keys, k), append(waiters, w)
			}
			y.p.EnterTogether(names, keys, waiters, y.now)
		}
	}
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
	passed := wire.Answer{Word: "passed"}
	perform(t, []scene{
		{name: "all at once", beats: []beat{
			{unused("a", "b"), ""},
			{together("a", "b"), "multi_lock #1 #2"},
			{shares(granted(1, 8), granted(5, 8)), "a gets 1; b gets 5"},
			{unused("a", "c"), "one by one"},
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
	})
}

// Elections: a candidate, its term and what it announces.
func TestElections(t *testing.T) {
	candidate := func(p *Process) *Kind { return p.CandidateKind("first") }
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
		{name: "a leader announces, now and again", kind: candidate, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: "notified"}), ""},
			{release("a"), "a ends: released; unlock #1"},
			{resigned, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
		{name: "an announcement is repeated until it is answered", kind: candidate, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{fail("election_announce", errNetwork), ""},
			{wait(20 * time.Millisecond), "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
		}},
		{name: "a new value has the next number", kind: candidate, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{proclaim("second"), "to send: election_announce #1 1 holdfast/push:election:{holdfast:n} 1 second"},
			{proclaim("third"), "to send: election_announce #1 1 holdfast/push:election:{holdfast:n} 2 third"},
			{func(y *play) { y.p.AnnounceAgain(y.turn("a"), y.now) }, "election_announce #1 1 holdfast/push:election:{holdfast:n} 2 third"},
			{release("a"), "a ends: released; unlock #1"},
			{proclaim("fourth"), "proclaim: released"},
		}},
		{name: "a term that is over announces no more by itself", kind: candidate, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: "notified"}), ""},
			{sleep(15 * time.Second), "listen; a ends: lost: expired"},
			{sleep(5 * time.Minute), ""},
		}},
		{name: "an exporter announces nothing more", kind: candidate, beats: []beat{
			{enter("a"), "lock #1"},
			{answer("lock", granted(1, 8)), "a gets 1"},
			{elected, "election_announce #1 1 holdfast/push:election:{holdfast:n} 0"},
			{answer("election_announce", wire.Answer{Word: "notified"}), ""},
			{export("a"), "a ends: lost: exported; the last token is 8"},
			{wait(6 * time.Minute), ""},
		}},
	})
}
