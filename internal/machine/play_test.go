package machine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A play gives a Client one input after the other, on a clock that the test moves. Its tables
// have the calls of the host after each input, in words. Ids are numbered as they appear. Waiters
// and their turns have the names that the test gives them.
type play struct {
	t       *testing.T
	p       *Client
	h       *recorder
	now     clock.Instant
	kind    *Kind // of the waiters that enter; nil: that of the Client
	attempt int   // of the subscription
	ids     []string
	waiters map[string]*LocalWaiter
	local   *Name                      // the newest that a caller waits for
	tenure  *Tenure                    // the first, where a test follows it
	all     []*Request                 // sent so far
	setOff  int                        // how many of them have left
	bounds  map[*Request]time.Duration // the Attempt with which each was sent
	calls   []string                   // since the last input
}

// An input is an event for the Client.
type input func(y *play)

// A beat is an input and the calls of the host after it, separated by "; ".
type beat struct {
	in  input
	out string
}

// A scene is a Client and its inputs, with the calls of the host after each.
type scene struct {
	name     string
	settings Settings
	quorum   bool // the server keeps no queue
	kind     func(c *Client) *Kind
	given    []beat // before beats, for what many scenes begin with
	beats    []beat
}

// aHolds: caller a has the name. The Client has no subscription.
var aHolds = []beat{
	{enter("a"), "lock #1"},
	{answer("lock", granted(1, 8)), "a gets 1"},
}

// aHoldsSubscribed: caller a has the name. The subscription is confirmed.
var aHoldsSubscribed = []beat{
	{confirmed, ""},
	{enter("a"), "lock #1 wait 0"},
	{answer("lock", granted(1, 8)), "a gets 1"},
}

// aWaits: caller a waits, and the Client is in the queue. The subscription is confirmed.
var aWaits = []beat{
	{confirmed, ""},
	{enter("a"), "lock #1 wait 0"},
	{answer("lock", inQueue(0)), ""},
}

// another is the id of another Client.
const another = "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|another"

// perform gives each scene its inputs, and compares.
func perform(t *testing.T, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			y := newPlay(t, s.settings)
			if s.quorum {
				y = newQuorumPlay(t, s.settings)
			}
			if s.kind != nil {
				y.kind = s.kind(y.p)
			}
			for i, b := range slices.Concat(s.given, s.beats) {
				if got := y.after(b.in); got != b.out {
					t.Fatalf("input %d: the host is asked for\n\t%s\nwant\n\t%s", i+1, got, b.out)
				}
			}
		})
	}
}

func newPlay(t *testing.T, s Settings) *play {
	c, h := newTestClient(s)
	return playOf(t, c, h)
}

// newQuorumPlay is one of a Client without a queue.
func newQuorumPlay(t *testing.T, s Settings) *play {
	c, h := newQuorumClient(s)
	return playOf(t, c, h)
}

func playOf(t *testing.T, c *Client, h *recorder) *play {
	y := &play{t: t, p: c, h: h, now: clock.Instant(time.Hour), waiters: map[string]*LocalWaiter{}, bounds: map[*Request]time.Duration{}}
	c.Host = listener{h, y}
	return y
}

// after returns the calls of the host after an input.
func (y *play) after(in input) string {
	y.calls = nil
	in(y)
	y.setOut()
	return strings.Join(y.calls, "; ")
}

// setOut sends the renewals that wait for a pipeline.
func (y *play) setOut() {
	for _, r := range y.all[y.setOff:] {
		if r.Attempt != y.bounds[r] {
			y.say("the host of %s does not know its new Attempt", r.Call.Script.Name)
		}
		if r.Unsent && !r.MarkSent(y.now) {
			y.say("%s is not sent", r.Call.Script.Name)
		}
	}
	y.setOff = len(y.all)
}

// say notes a call of the host.
func (y *play) say(format string, about ...any) {
	y.calls = append(y.calls, fmt.Sprintf(format, about...))
}

// known numbers an id, as it appears first.
func (y *play) known(id string) string {
	for i, old := range y.ids {
		if old == id {
			return "#" + strconv.Itoa(i+1)
		}
	}
	y.ids = append(y.ids, id)
	return "#" + strconv.Itoa(len(y.ids))
}

// id is the one of that number.
func (y *play) id(number string) string {
	i, err := strconv.Atoi(strings.TrimPrefix(number, "#"))
	if err != nil || i > len(y.ids) {
		return number
	}
	return y.ids[i-1]
}

// words is a call in words, with its arguments but for the empty ones.
func (y *play) words(c driver.Call) string {
	words := []string{c.Script.Name}
	for _, arg := range c.Args {
		if strings.HasPrefix(arg, y.p.idPrefix) {
			arg = y.known(arg)
		}
		if arg != "" {
			words = append(words, arg)
		}
	}
	return strings.Join(words, " ")
}

// whose is the name of the waiter that a turn was given to.
func (y *play) whose(u *Turn) string {
	for name, w := range y.waiters {
		if y.h.outcomes[w].Turn == u {
			return name
		}
	}
	return "nobody"
}

// listener notes the calls of the host.
type listener struct {
	*recorder
	y *play
}

func (l listener) Send(r *Request) {
	l.recorder.Send(r)
	if !l.y.p.Queue { // as the ballot does
		r.Unsent = false
		switch {
		case r.Call.Script == script.Lock:
			r.Attempt, r.OnAnswer = time.Hour, (*Request).TryAnswered
		case r.Call.Script == script.Unlock && r.Tenure != nil:
			r.OnAnswer = (*Request).MajorityUnlocked
		}
	}
	l.y.all, l.y.bounds[r] = append(l.y.all, r), r.Attempt
	l.y.say("%s", l.y.words(r.Call))
}

func (l listener) Deliver(w *LocalWaiter, o Outcome) {
	l.recorder.Deliver(w, o)
	if o.Turn != nil {
		l.y.say("%v gets %d", w.Call, o.Turn.Token)
		return
	}
	l.y.say("%v: %s", w.Call, inWords(o.Err))
}

func (l listener) Answer(about any, err error) {
	l.recorder.Answer(about, err)
	if u, ok := about.(*Turn); ok {
		l.y.say("release of %s: %s", l.y.whose(u), inWords(err))
	}
}

func (l listener) Done(what any) {
	l.recorder.Done(what)
	switch what := what.(type) {
	case *Tenure:
		l.y.say("%s is gone", l.y.known(what.ID))
	case *Kind:
		l.y.say("smaller")
	}
}

func (l listener) Ended(u *Turn) {
	l.recorder.Ended(u)
	l.y.say("%s ends: %s", l.y.whose(u), inWords(u.Ended.Load().Err))
}

func (l listener) Listen(s *Subscriber, again bool) {
	l.recorder.Listen(s, again)
	if again {
		l.y.say("listen again")
	} else {
		l.y.say("listen")
	}
}

// inWords is an error in few words.
func inWords(err error) string {
	for _, known := range []struct {
		sentinel error
		words    string
	}{
		{nil, "ok"}, {wire.ErrReleased, "released"}, {wire.ErrUnreachable, "unreachable"}, {wire.ErrUnknown, "unknown"}, {wire.ErrClosed, "closed"},
		{ErrOneByOne, "one by one"},
	} {
		if errors.Is(err, known.sentinel) {
			return known.words
		}
	}
	return err.Error()
}

// enter adds a waiter with that label. If the label begins with "try", it does not wait for a holder.
func enter(caller string) input {
	return func(y *play) { y.enter(&LocalWaiter{Call: caller, Try: strings.HasPrefix(caller, "try")}) }
}

// enterAs makes a caller wait that asks for more.
func enterAs(w LocalWaiter) input { return func(y *play) { y.enter(&w) } }

// enterAt makes a caller wait for another name than "n".
func enterAt(name, caller string) input {
	return func(y *play) { y.enterName(name, &LocalWaiter{Call: caller}) }
}

func (y *play) enter(w *LocalWaiter) { y.enterName("n", w) }

func (y *play) enterName(name string, w *LocalWaiter) {
	y.waiters[w.Call.(string)] = w
	if _, err := y.p.Enter(name, y.kind, w, y.now); err != nil {
		y.say("%v: %s", w.Call, inWords(err))
	}
	y.local = w.Name
}

// sub is the subscription: in a Cluster that of the newest name.
func (y *play) sub() *Subscriber {
	if y.p.sub == nil {
		return y.local.sub
	}
	return y.p.sub
}

// both is two inputs in a moment.
func both(one, other input) input {
	return func(y *play) {
		one(y)
		other(y)
	}
}

// leaveAlone makes the Client wait so long before it asks for a name: another Client waits for it.
func leaveAlone(d time.Duration) input {
	return func(y *play) { y.h.notBefore = y.now.Add(d) }
}

// leave ends the wait of a caller.
func leave(caller string) input {
	return func(y *play) {
		if t := y.p.Abandon(y.waiters[caller], y.now); t != nil {
			y.p.AwaitLeftover(t)
		}
	}
}

// release releases the turn of a caller.
func release(caller string) input { return func(y *play) { y.p.Release(y.turn(caller), y.now) } }

func (y *play) turn(caller string) *Turn {
	u := y.h.outcomes[y.waiters[caller]].Turn
	if u == nil {
		y.t.Fatalf("%s has no turn", caller)
	}
	return u
}

// answer answers the newest request of that script, or with a number behind it that one.
func answer(which string, a wire.Answer) input {
	return func(y *play) { y.p.HandleAnswer(y.request(which), a, nil, y.now) }
}

// fail ends it with an error.
func fail(which string, err error) input {
	return func(y *play) { y.p.HandleAnswer(y.request(which), wire.Answer{}, err, y.now) }
}

func (y *play) request(which string) *Request {
	name, digits, numbered := strings.Cut(which, " ")
	var those []*Request
	for _, r := range y.all {
		if r.Call.Script.Name == name {
			those = append(those, r)
		}
	}
	number := len(those)
	if numbered {
		number, _ = strconv.Atoi(digits)
	}
	if number == 0 || number > len(those) {
		y.t.Fatalf("there is no request %q", which)
	}
	return those[number-1]
}

// share adds a lease with that MinHold to the turn of a caller.
func share(caller string, minHold time.Duration) input {
	return func(y *play) {
		if kept, ended := y.turn(caller).Share(minHold); ended != nil {
			y.say("no share: %s", inWords(ended.Err))
		} else if !kept {
			y.say("to be renewed first")
		}
	}
}

// warned says how many warnings there were so far.
func warned(y *play) { y.say("%d warnings", len(y.h.warnings)) }

// shutDown closes the Client.
func shutDown(y *play) {
	y.p.Closed = true
	calls, repeats := y.p.Close(y.now)
	y.owe("owed", calls)
	y.owe("once more", repeats)
}

// late answers a request after that.
func late(which string, a wire.Answer) input {
	return func(y *play) {
		answer(which, a)(y)
		y.owe("owed", y.p.LateCleanups)
		y.p.LateCleanups = nil
	}
}

func (y *play) owe(what string, calls []driver.Call) {
	for _, c := range calls {
		y.say("%s: %s", what, y.words(c))
	}
}

// granted is the answer that grants tokens from base on.
func granted(base, size int64) wire.Answer {
	return wire.Answer{Word: wire.Granted, Base: base, Size: size}
}

// renewed is that of a renewal which reserves none.
func renewed() wire.Answer { return wire.Answer{Word: wire.Renewed, Base: 1} }

// heldBy another Client, whose ttl is whole.
func heldByAnother() wire.Answer {
	return wire.Answer{Word: wire.Held, Holder: another, PTTL: 15 * time.Second}
}

// inQueue is the answer that queues.
func inQueue(position int64) wire.Answer {
	return wire.Answer{Word: wire.Queued, Holder: another, PTTL: 15 * time.Second, Position: position, Score: 70, Inserted: true, Listening: true, Server: 1_000_000}
}

// confirmed opens the subscription.
func confirmed(y *play) {
	subscribing(y)
	y.sub().OnConfirm(y.now)
	y.due()
}

// subscribing sends SUBSCRIBE.
func subscribing(y *play) {
	y.sub().wanted = true
	y.attempt = y.sub().OnBegin(y.now)
}

// broken ends it.
func broken(y *play) { y.sub().OnBreak(errNetwork, y.now) }

// pushed is a push about an id.
func pushed(word wire.PushWord, id string) input {
	return func(y *play) {
		y.sub().OnPush(y.attempt, wire.Push{Word: word, ID: y.id(id), Window: 2 * time.Second}, y.now)
	}
}

// grantPushed is a grant of tokens from base on, so long after the answer of inQueue.
func grantPushed(id string, base, size int64, after time.Duration) input {
	return func(y *play) {
		y.sub().OnPush(y.attempt, wire.Push{
			Word: wire.PushGrant, ID: y.id(id), Base: base, Size: size, Window: 2 * time.Second, Server: 1_000_000 + after.Microseconds(),
		}, y.now)
	}
}

// wait moves the clock, and fires each timer when it is due.
func wait(d time.Duration) input {
	return func(y *play) {
		for end, step := y.now.Add(d), time.Millisecond; y.now < end; {
			y.now = min(y.now.Add(step), end)
			y.due()
		}
	}
}

// sleep is wait for a Client that is frozen meanwhile.
func sleep(d time.Duration) input {
	return func(y *play) {
		y.now = y.now.Add(d)
		y.due()
	}
}

func (y *play) due() {
	for n := 0; ; n++ {
		t := y.p.Schedule.Due(y.now)
		if t == nil {
			break
		}
		if n > 1000 {
			y.t.Fatal("timers fire again and again")
		}
		t.Fire(y.now)
	}
	y.setOut()
}

var errNetwork = errors.New("connection reset")

// later moves the clock, but fires no timer: the next input was on its way all the time.
func later(d time.Duration) input { return func(y *play) { y.now = y.now.Add(d) } }

// released is the answer of unlock and of cancel.
func released() wire.Answer { return wire.Answer{Word: wire.Released} }
