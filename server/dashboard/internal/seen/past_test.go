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
