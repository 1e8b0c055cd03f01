package journal

import "time"

// passed is what an audit needs of the leases with lower tokens: the one that began last and
// the one that ended last, of all Writers and of each. The clock of one Writer is more exact
// than the server's.
type passed struct {
	backs       setBacks
	begun, over extremes
	writers     map[string]*ownPast
}

type ownPast struct{ begun, over *lease }

// extremes are the leases whose moment is surely the latest, and perhaps the latest.
// Of the second there are two of different Writers: those of one Writer are not in doubt.
type extremes struct {
	certain       *lease
	perhaps, next *lease
}

// begunAfter finds a lease with a lower token that surely began after l.
func (p *passed) begunAfter(l *lease) (*lease, time.Duration) {
	begin := func(x *lease) span { return x.begin }
	if own := p.writers[l.begin.writer]; own != nil {
		if by := p.surely(own.begun, l, begin); by > 0 {
			return own.begun, by
		}
	}
	if by := p.surely(p.begun.certain, l, begin); by > 0 {
		return p.begun.certain, by
	}
	return nil, 0
}

// overAfter finds one that surely ended after l began.
func (p *passed) overAfter(l *lease) (*lease, time.Duration) {
	over := func(x *lease) span { return x.over }
	if own := p.writers[l.begin.writer]; own != nil {
		if by := p.surely(own.over, l, over); by > 0 {
			return own.over, by
		}
	}
	if by := p.surely(p.over.certain, l, over); by > 0 {
		return p.over.certain, by
	}
	return nil, 0
}

// surely is by how much a moment of x was after l began, however the clocks went.
func (p *passed) surely(x, l *lease, of func(*lease) span) time.Duration {
	if x == nil {
		return 0
	}
	return of(x).surelyAfter(l.begin) - p.backs.between(of(x), l.begin)
}

// possibleOverlap is by how much one of another Writer may have ended after l began.
func (p *passed) possibleOverlap(l *lease) time.Duration {
	for _, x := range []*lease{p.over.perhaps, p.over.next} {
		if x != nil && (x.over.writer != l.begin.writer || x.over.writer == "") {
			return max(0, x.over.latest.Sub(l.begin.earliest)+p.backs.between(x.over, l.begin))
		}
	}
	return 0
}

func (p *passed) add(l *lease) {
	if p.writers == nil {
		p.writers = map[string]*ownPast{}
	}
	own := p.writers[l.entry().Writer]
	if own == nil {
		own = &ownPast{}
		p.writers[l.entry().Writer] = own
	}
	if l.begin.known {
		p.begun.add(l, func(x *lease) span { return x.begin })
		if own.begun == nil || l.begin.local > own.begun.begin.local {
			own.begun = l
		}
	}
	if l.over.known {
		p.over.add(l, func(x *lease) span { return x.over })
		if own.over == nil || l.over.local > own.over.over.local {
			own.over = l
		}
	}
}

func (x *extremes) add(l *lease, of func(*lease) span) {
	s := of(l)
	if x.certain == nil || s.earliest.After(of(x.certain).earliest) {
		x.certain = l
	}
	switch {
	case x.perhaps == nil || s.latest.After(of(x.perhaps).latest):
		if x.perhaps != nil && of(x.perhaps).writer != s.writer {
			x.next = x.perhaps
		}
		x.perhaps = l
	case of(x.perhaps).writer != s.writer && (x.next == nil || s.latest.After(of(x.next).latest)):
		x.next = l
	}
}
