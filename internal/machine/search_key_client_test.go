package machine

import (
	"cmp"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
)

func (k *keyMaker) client(c *Client) {
	k.bits(c.Closed, c.NetFailed)
	k.at(max(c.renewedAllAt, k.now.Add(-grid)))
	k.due(c.noPushUntil)
	k.subscriber(c.sub)
	for _, n := range c.names { // there is one at most
		k.localName(n)
	}
	var rest []string
	for id := range c.tenures {
		rest = append(rest, id)
	}
	slices.SortFunc(rest, byAge)
	for _, id := range rest {
		k.tenure(c.tenures[id])
	}
	var cleanups []*cleanup
	for e := range c.cleanups {
		cleanups = append(cleanups, e)
	}
	slices.SortFunc(cleanups, func(a, b *cleanup) int {
		return cmp.Or(byAge(a.call.Args[0], b.call.Args[0]), cmp.Compare(a.call.Script.Name, b.call.Script.Name),
			cmp.Compare(a.until, b.until), cmp.Compare(a.wait, b.wait))
	})
	for _, e := range cleanups {
		k.cleanup(e)
	}
	k.timers(k.pr)
}

func (k *keyMaker) timers(pr *searchProc) {
	type entry struct {
		when int64
		what string
		f    *closure
	}
	var all []entry
	for _, t := range pr.timers() {
		f := *(**closure)(unsafe.Pointer(&t.Fire))
		all = append(all, entry{k.left(t.When()), runtime.FuncForPC(f.code).Name(), f})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.what, b.what)) })
	k.num(int64(len(all)))
	for _, e := range all {
		k.num(e.when)
		k.code(e.f)
		switch x := reflect.NewAt(receiverOf(e.f.code).t, e.f.of).Interface().(type) {
		case *Name:
			k.bits(x.listed)
		case *Tenure:
			k.tenure(x)
		case *Turn:
			k.turn(x)
		case *cleanup:
			k.cleanup(x)
		}
	}
}

func (k *keyMaker) subscriber(s *Subscriber) {
	k.bits(s.wanted, s.Confirmed, s.failed, s.resubscribing == s.attempt)
	k.due(max(s.sentAt.Add(time.Second), k.now))
}

func (k *keyMaker) localName(n *Name) {
	k.bits(n.listed, n.turn != nil, n.tenure != nil)
	for c := n.waiters.first; c != nil; c = c.after {
		k.bits(true, c.Try)
	}
	k.due(n.askAt)
	k.at(n.failingSince)
	if n.tenure != nil {
		k.tenure(n.tenure)
	}
	if n.turn != nil {
		k.turn(n.turn)
	}
}

func (k *keyMaker) tenure(t *Tenure) {
	if k.known(unsafe.Pointer(t)) {
		return
	}
	k.id(t.ID)
	k.num(int64(t.phase))
	k.bits(t.name.listed, t.mayRunLate)
	if t.phase == ended {
		return
	}
	k.num(int64(t.openLocks))
	switch t.phase {
	case asked, queued:
		k.bits(t.asking != nil, t.foundHeld, t.mayBeStored, t.requeue, t.earlyRecall)
		k.num(t.name.seen.position)
		k.pushStart(t)
		k.arrival(t.arrival)
		k.at(t.lateGrantAt)
		k.at(t.Expiry)
		k.due(t.pollBy)
		k.at(t.VerifySince)
		if t.asking != nil {
			k.request(t.asking)
		}
	case holding:
		k.bits(t.Failures > 0, t.toppedUp, t.recallSure, t.turns > 0, t.renewal != nil, t.acknowledged)
		k.at(t.VerifySince)
		k.at(t.Ends())
		k.at(t.Expiry)
		k.num(int64(t.TTL / time.Millisecond))
		k.due(t.RenewAt)
		k.due(t.LingerUntil)
		k.serves(t)
		b := blocksOf(&t.tokens)
		if b.next < b.end || b.spare < b.spareEnd {
			k.num(1)
		}
		for _, x := range []int64{b.next, b.end, b.spare, b.spareEnd} {
			k.token(x)
		}
		k.num(b.half)
		if t.renewal != nil {
			k.request(t.renewal)
		}
	case releasing:
		k.bits(t.unlocking != nil, t.successor != nil, t.awaitedTurn != nil)
		k.at(t.Expiry)
		if t.awaitedTurn != nil {
			k.due(t.releaseDeadline)
		}
		if t.successor != nil {
			k.tenure(t.successor)
		}
		if t.unlocking != nil {
			k.request(t.unlocking)
		}
	case unreleased:
		k.at(t.Expiry)
	}
}

// pushStart writes what a pushed grant counts from: the rest of that follows from the time.
func (k *keyMaker) pushStart(t *Tenure) {
	k.bits(t.firstSent > 0)
	if t.firstSent > 0 {
		k.at(t.pushStart(k.w.us(), t.name.sub.sentAt, clock.Never))
	}
}

// serves writes how many of the waiters still get a turn.
func (k *keyMaker) serves(t *Tenure) {
	if t.servesUpTo == 0 {
		k.num(-1)
		return
	}
	served := int64(0)
	for c := t.name.waiters.first; c != nil && c.number <= t.servesUpTo; c = c.after {
		served++
	}
	k.num(served)
}

func (k *keyMaker) turn(u *Turn) {
	if k.known(unsafe.Pointer(u)) {
		return
	}
	k.bits(u.Ended.Load() != nil, u.removal != nil, u.Name.turn == u)
	k.num(int64(u.shares))
	k.tenure(u.Tenure)
}

func (k *keyMaker) request(r *Request) {
	if k.known(unsafe.Pointer(r)) {
		return
	}
	f := *(**closure)(unsafe.Pointer(&r.OnAnswer))
	k.code(f)
	k.text(r.Call.Script.Name)
	k.id(r.Call.Args[0])
	k.bits(r.Unsent, r.reserving, r.NoFallback)
	k.due(r.Sent.Add(r.Attempt))
	if t := r.Tenure; t != nil {
		k.at(r.Sent)
		k.bits(r.Name.listed, r.Sent < k.pr.p.netFailureOver, r.Name.sub.confirmedBefore(r.Sent), r.Sent >= t.clockPair.sent, r.Sent >= t.VerifySince)
		k.tenure(t)
	}
	if e := cleanupOf(r); e != nil {
		if _, lives := e.client.cleanups[e]; !lives || e.asking != r {
			k.num(0)
		} else {
			k.num(1)
			k.cleanup(e)
		}
	}
}

// cleanupOf is the cleanup that a request is of; nil: of none.
func cleanupOf(r *Request) *cleanup {
	if f := *(**closure)(unsafe.Pointer(&r.OnAnswer)); receiverOf(f.code) != nil {
		return (*cleanup)(f.of)
	}
	return nil
}

func (k *keyMaker) args(c *driver.Call) {
	for i, a := range c.Args {
		switch {
		case strings.Contains(a, "|"):
			k.id(a)
		case i == 2 && c.Script == script.Lock:
			n, _ := strconv.ParseInt(a, 10, 64)
			k.arrival(n)
		default:
			k.text(a)
		}
	}
}

func (k *keyMaker) cleanup(e *cleanup) {
	if k.known(unsafe.Pointer(e)) {
		return
	}
	k.text(e.call.Script.Name)
	k.args(&e.call)
	k.due(min(e.until, k.now.Add(8*grid)))
	k.delay(e.wait)
	k.bits(e.lockKeyOnly, e.answered, e.asking != nil, e.client.cancels.Of(e.call.Args[0]) == e)
	k.num(int64(e.repeatAfter))
	if e.asking != nil {
		k.request(e.asking)
	}
}

func (k *keyMaker) message(m *message) {
	k.num(int64(m.kind))
	k.bits(m.fails, m.slow, m.r != nil)
	if m.r != nil {
		k.request(m.r)
	}
	if m.kind == requestMessage {
		k.text(m.call.Script.Name)
		k.args(&m.call)
		k.bits(k.w.isFollowed(m))
		k.due(max(m.givenUp.Add(lateFor), k.now))
	}
	if m.kind == answerMessage && !m.fails || m.kind == pushMessage {
		k.said(&m.said)
	}
	if m.attempt > 0 && !k.pr.dead {
		k.num(int64(compareAttempts(m.attempt, k.pr.p.sub.attempt)))
	}
}

func (k *keyMaker) said(s *said) {
	k.text(s.word)
	k.token(s.last)
	if s.last > 0 {
		k.num(s.size)
	}
	k.num(min(s.waiting, 1))
	if s.us > 0 && s.word != "cancelled" && s.word != "not held" && s.word != "held" {
		k.at(searchStart.Add(time.Duration(s.us-epoch) * time.Microsecond))
	}
	k.id(s.holder)
	k.num(int64(s.ttl / time.Millisecond))
	k.num(s.rank)
	k.arrival(s.score)
	k.bits(s.inserted, s.listens, s.poll)
	k.id(s.id)
}
