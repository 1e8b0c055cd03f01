package waiting

import (
	"cmp"
	"slices"
	"time"
)

// turn is how far apart the tokens of two turns of one tenure are at most: a caller may give
// up a turn that it was just given. The next tenure begins with a block of its own.
const turn = 4

// Overtaken finds waiters that were served after others who came later. A waiter may see
// a tenure served whose Client stood before it, with the local waiters that were there when
// that tenure began, and no more than two tenures of one other Client that began during its
// wait. On a topology without a queue it counts the grants to each other Client.
func (n *Name) Overtaken(r Rules) (found []Breach) {
	served := n.served()
	tenures, runs := begins(served, true), begins(served, false)
	for _, a := range n.Calls {
		waited := a.Got > 0 || r.Grants > 0
		until := cmp.Or(a.Got, a.Until)
		still := covered(n.Still, Span{a.Asked, until})
		if a.Dedicated || !waited || n.frozen(a) || a.Asked < n.From || still > int64(r.Window)/2 {
			continue // who stood still for a claim window may have lost its place
		}
		abreast := int64(r.Abreast) + still
		if r.Grants > 0 {
			found = append(found, n.counted(a, served, until, r.Grants)...)
			continue
		}
		if a.Own {
			found = append(found, outrun(a, served, until, abreast)...)
			continue
		}
		found = append(found, n.passedBy(a, served, tenures, runs, abreast)...)
	}
	return found
}

// passedBy finds who was served in front of a call without having stood there. A call of a Client
// that holds the name has its place when that tenure ends.
func (n *Name) passedBy(a *Call, served []*Call, tenures, runs []int64, abreast int64) (found []Breach) {
	came := n.came(a, a.Got)
	seen := map[string]map[int64]bool{}
	first, _ := slices.BinarySearchFunc(served, came, func(c *Call, t int64) int { return cmp.Compare(c.Got, t) })
	for i := first; i < len(served) && served[i].Got < a.Got; i++ {
		b := served[i]
		if b.Client == a.Client || b.Dedicated {
			continue
		}
		later := b.Asked > tenures[i] || runs[i] > came+abreast && !n.stood(b.Client, came, abreast)
		if later && b.Asked > came+abreast {
			return append(found, Breach{Call: a, From: came, By: b, Count: 1})
		}
		if runs[i] > came+abreast {
			if seen[b.Client] == nil {
				seen[b.Client] = map[int64]bool{}
			}
			if seen[b.Client][runs[i]] = true; len(seen[b.Client]) == 3 {
				found = append(found, Breach{Call: a, From: came, By: b, Count: 3})
			}
		}
	}
	return found
}

// served are the granted calls, by the time of the grant.
func (n *Name) served() (all []*Call) {
	for _, c := range n.Calls {
		if c.Got > 0 {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *Call) int { return cmp.Compare(a.Got, b.Got) })
	return all
}

// begins says of each grant when the tenure began, as far as that can be told: with tokens
// by the block, else as the first of the grants that one Client was given one after the other.
func begins(served []*Call, tokens bool) []int64 {
	from := make([]int64, len(served))
	for i, c := range served {
		from[i] = c.Got
		if i == 0 || c.Own || served[i-1].Own || served[i-1].Client != c.Client {
			continue
		}
		if apart := c.Token - served[i-1].Token; !tokens || apart > 0 && apart <= turn {
			from[i] = from[i-1]
		}
	}
	return from
}

// counted finds the Clients that were granted too often during a wait. Local waiters that were
// served one after the other are one grant to their Client. A grant while a process stood still does
// not count, since that process may be the waiter: it did not poll.
func (n *Name) counted(a *Call, served []*Call, until int64, most int) (found []Breach) {
	grants := map[string]int{}
	newest := map[string]int64{}
	first, _ := slices.BinarySearchFunc(served, a.Asked, func(c *Call, t int64) int { return cmp.Compare(c.Got, t) })
	for i := first; i < len(served) && served[i].Got < until; i++ {
		b := served[i]
		if b.Client == a.Client || covered(n.Still, Span{b.Got, b.Got + 1}) > 0 {
			continue
		}
		if last, ok := newest[b.Client]; ok && b.Token-last > 0 && b.Token-last <= turn {
			newest[b.Client] = b.Token
			continue // a turn of the same tenure
		}
		newest[b.Client] = b.Token
		if grants[b.Client]++; grants[b.Client] == most+1 {
			found = append(found, Breach{Call: a, From: a.Asked, By: b})
		}
	}
	for i := range found {
		found[i].Count = grants[found[i].By.Client]
	}
	return found
}

// together is how far apart grants of one moment may be heard of. A call that is granted twice
// in that time, by a message and by an answer, has the token of the second.
const together = int64(20 * time.Millisecond)

// outrun finds who came later and has a lower token, of kinds whose calls each stand in the
// queue for themselves.
func outrun(a *Call, served []*Call, until, abreast int64) (found []Breach) {
	first, _ := slices.BinarySearchFunc(served, a.Asked, func(c *Call, t int64) int { return cmp.Compare(c.Got, t) })
	for i := first; i < len(served) && served[i].Got < until; i++ {
		if b := served[i]; b.Got < until-together && !b.Dedicated && b.Asked > a.Asked+abreast && b.Token < a.Token {
			return []Breach{{Call: a, From: a.Asked, By: b, Count: 1}}
		}
	}
	return nil
}

// stood reports whether a Client may have had a place in the queue at a time.
func (n *Name) stood(client string, at, abreast int64) bool {
	return slices.ContainsFunc(n.Calls, func(c *Call) bool {
		return c.Client == client && c.Asked <= at+abreast && c.Until >= at-abreast
	})
}

// frozen reports whether the Client of a call did not run at some time of its wait.
func (n *Name) frozen(c *Call) bool {
	return slices.ContainsFunc(n.Frozen[c.Client], func(s Span) bool { return s.From <= c.Until && s.To >= c.Asked })
}
