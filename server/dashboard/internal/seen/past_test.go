package seen

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
)

// pictureOf shows names that one tenure each holds.
func pictureOf(at time.Time, names ...string) *Picture {
	p := &Picture{At: at, ByName: map[string]*Lock{}}
	for _, name := range names {
		l := &Lock{State: &admin.State{Name: name, Kind: holdfast.KindMutex, Holder: &admin.Holder{Hash: name, Remaining: time.Minute}}, Seen: at}
		p.Locks, p.ByName[name] = append(p.Locks, l), l
	}
	return p
}

// A name whose keys are gone is not held for ever.
func TestHoldOfANameThatIsGone(t *testing.T) {
	p, at := newPast(), time.Now()
	first, second := pictureOf(at, "a", "b"), pictureOf(at.Add(time.Second), "b")
	p.see(&Picture{}, first)
	p.see(first, second)
	if a, b := p.Holds["a"], p.Holds["b"]; len(a) != 1 || !a[0].To.Equal(second.At) || a[0].End != notSeen || len(b) != 1 || !b[0].To.IsZero() {
		t.Errorf("got %+v and %+v, want that only a is over", a, b)
	}
}

// A tenure that no poll saw for a while is one hold, however often that happens.
func TestHoldOverGaps(t *testing.T) {
	p, at := newPast(), time.Now()
	last := &Picture{}
	for i := range 5 {
		next := pictureOf(at.Add(time.Duration(i)*time.Minute), "a")
		p.see(last, next)
		last = next
	}
	if a := p.Holds["a"]; len(a) != 1 || !a[0].From.Equal(at) || !a[0].To.IsZero() {
		t.Errorf("got %+v, want one hold since %v", a, at)
	}
}

// A value of another program is no tenure: it may be that of the next holder, too.
func TestPastOfAForeignValue(t *testing.T) {
	p, at := newPast(), time.Now()
	first, third := pictureOf(at, "a"), pictureOf(at.Add(2*time.Second), "a")
	for _, next := range []*Picture{first, third} {
		next.Locks[0].Holder.Foreign = true
	}
	second := pictureOf(at.Add(time.Second))
	p.see(&Picture{}, first)
	p.see(first, second)
	p.see(second, third)
	if a := p.Holds["a"]; len(a) != 2 || a[0].To.IsZero() || !a[1].To.IsZero() {
		t.Errorf("got %+v, want two holds", a)
	}
}

// Somebody makes new names all the time. The oldest that are over are forgotten.
func TestPastOfManyNames(t *testing.T) {
	p, at := newPast(), time.Now()
	last := &Picture{}
	const each = view.MaxNames / 4
	for i := range 8 {
		var names []string
		for n := range each {
			names = append(names, fmt.Sprint("n", i, "-", n))
		}
		next := pictureOf(at.Add(time.Duration(i)*time.Second), names...)
		p.see(last, next)
		last = next
	}
	if n := len(p.Holds); n != view.MaxNames {
		t.Errorf("%d names are remembered, want %d", n, view.MaxNames)
	}
	for i, want := range map[int]int{0: 0, 3: 0, 4: 1, 7: 1} {
		if got := len(p.Holds[fmt.Sprint("n", i, "-0")]); got != want {
			t.Errorf("names of poll %d have %d holds, want %d", i, got, want)
		}
	}
}

// A name stays in the past while one of several holders goes on.
func TestPastOfSeveralHolders(t *testing.T) {
	p, at := newPast(), time.Now()
	of := func(at time.Time, hashes ...string) *Picture {
		l := &Lock{State: &admin.State{Name: "s", Kind: holdfast.KindSemaphore, Holder: &admin.Holder{Hash: "first"}}, Seen: at}
		for _, hash := range hashes {
			l.Holders = append(l.Holders, admin.Holder{Hash: hash, Remaining: time.Minute})
		}
		if len(hashes) == 0 {
			l.Holder = nil
		}
		return &Picture{At: at, Locks: []*Lock{l}, ByName: map[string]*Lock{"s": l}}
	}
	last := &Picture{}
	see := func(next *Picture) { p.see(last, next); last = next }
	see(of(at, "first", "second"))
	for i := range int(Remembered/(10*time.Second)) + 3 {
		see(of(at.Add(time.Duration(i+1)*10*time.Second), "first"))
	}
	if holds := p.Holds["s"]; len(holds) != 2 || !holds[0].To.IsZero() && !holds[1].To.IsZero() {
		t.Errorf("got %+v, want that first goes on", holds)
	}
	delete(p.Holds, "s") // as if it had been one of too many
	see(of(last.At.Add(time.Second)))
	if holds, known := p.Holds["s"]; known {
		t.Errorf("got %+v of a name without holds", holds)
	}
}

// A name that cannot be read for a while makes no event, and its hold goes on.
func TestPastOfARefusedName(t *testing.T) {
	p, at := newPast(), time.Now()
	first, third := pictureOf(at, "a"), pictureOf(at.Add(2*time.Second), "a")
	second := pictureOf(at.Add(time.Second), "a")
	second.Locks[0].Refused, second.Locks[0].State = true, &admin.State{Name: "a"}
	p.see(&Picture{}, first)
	p.see(first, second)
	if a := p.Holds["a"]; len(a) != 1 || a[0].End != notSeen {
		t.Errorf("got %+v, want that it is not seen", a)
	}
	p.see(second, third)
	if a := p.Holds["a"]; len(a) != 1 || !a[0].To.IsZero() || len(p.Events) != 0 {
		t.Errorf("got %+v and %+v, want one hold and no event", a, p.Events)
	}
}
