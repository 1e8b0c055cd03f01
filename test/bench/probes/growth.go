package probes

import (
	"fmt"
	"math"

	"github.com/holdfast-go/holdfast/internal/script"
)

// growth is what one operation costs when there are more waiters and more names, and what each
// of them takes in Redis.
func growth(p *probe) {
	p.loadRaw()
	p.overWaiters()
	p.memory()
	p.overNames()
}

// overWaiters hands a name over while so many wait, and the old holder joins the queue again.
func (p *probe) overWaiters() {
	const name = "line"
	listening := p.rc.Subscribe(p.ctx, "holdfast/push:"+rawOwner)
	must(listening.Receive(p.ctx))
	go func() {
		for range listening.Channel() {
		}
	}()
	ids := []string{rawID()} // the holder first
	p.raw(1, "granted", func(int) rawCall { return rawLock(name, ids[0]) })
	p.series("hand-over with %d waiters, in Redis, µs", p.size(5, 4), func(n int) float64 {
		ids = append(ids, p.join(name, n+1-len(ids))...)
		return p.cost(1, func() {
			id, fresh := ids[0], rawID()
			ids = append(ids[1:], fresh)
			p.raw(1, "queued", func(int) rawCall { return rawCall{script.Unlock, name, []any{id, "", fresh}} })
		})
	})
}

// series notes a cost at 1, 10, 100 and so on, and how much faster than log n it grows from 10 on:
// cost(n) / cost(10) / log10(n), where that is most.
func (p *probe) series(what string, points int, cost func(n int) float64) {
	var ten, worst float64
	for i := range points {
		n := int(math.Pow10(i))
		c := cost(n)
		p.figures[fmt.Sprintf(what, n)] = c
		switch {
		case n == 10:
			ten = c
		case n > 10:
			worst = max(worst, c/ten/float64(i))
		}
	}
	p.figures["growth from 10 on divided by log n: "+fmt.Sprintf(what, 10)] = worst
}

// memory is what Redis needs for names in each state.
func (p *probe) memory() {
	check(p.rc.FlushAll(p.ctx).Err())
	n := p.size(100_000, 500) // with more, Redis would double its table
	per := func(what string, fill func()) {
		from := p.counters().Memory
		fill()
		p.figures[what+", B"] = (p.counters().Memory - from) / float64(n)
	}
	name := func(i int) string { return fmt.Sprintf("held:%07d", i) }
	per("a name that is held", func() { p.raw(n, "granted", func(i int) rawCall { return rawLock(name(i), rawID()) }) })
	per("more if one waits", func() { p.raw(n, "queued", func(i int) rawCall { return rawJoin(name(i), rawID()) }) })
	per("a waiter in a long queue", func() { p.join(name(0), n) })
	check(p.rc.FlushAll(p.ctx).Err())
	per("a name that was used once", func() { p.useOnce("once", 0, n) })
	check(p.rc.FlushAll(p.ctx).Err())
}

// useOnce locks names and releases them.
func (p *probe) useOnce(kind string, from, to int) {
	var id string
	p.raw(2*(to-from), "", func(i int) rawCall {
		name := fmt.Sprintf("%s:%07d", kind, from+i/2)
		if i%2 == 0 {
			id = rawID()
			return rawLock(name, id)
		}
		return rawCall{script.Unlock, name, []any{id}}
	})
}

// overNames locks and releases new names while Redis remembers so many.
func (p *probe) overNames() {
	client := p.client("names")
	known, fresh := 0, 0
	p.series("lock and release with %d names, in Redis, µs", p.size(7, 4), func(n int) float64 {
		p.useOnce("known", known, n)
		known = n
		return p.cost(2, func() {
			fresh++
			check(p.lock(client, fmt.Sprintf("new:%07d", fresh)).Release())
		})
	})
}
