package model

import "hash/maphash"

// table remembers which states were seen and from which each was reached first.
// A state takes 24 to 32 bytes, whatever its own size.
type table[S comparable] struct {
	seed   [2]maphash.Seed
	slots  []uint32 // number of a state + 1; 0: free
	prints []fingerprint
	from   []uint32
}

type fingerprint [2]uint64

func newTable[S comparable]() *table[S] {
	return &table[S]{
		seed:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		slots: make([]uint32, 1<<16),
	}
}

func (t *table[S]) print(s *S) fingerprint {
	return fingerprint{maphash.Comparable(t.seed[0], *s), maphash.Comparable(t.seed[1], *s)}
}

// find returns where the fingerprint stands, or the free slot for it.
func (t *table[S]) find(f fingerprint) (slot uint64, known bool) {
	mask := uint64(len(t.slots) - 1)
	for slot = f[0] & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if t.prints[t.slots[slot]-1] == f {
			return slot, true
		}
	}
	return slot, false
}

// add notes a state; known: it was there before.
func (t *table[S]) add(f fingerprint, from uint32) (number uint32, known bool) {
	slot, known := t.find(f)
	if known {
		return t.slots[slot] - 1, true
	}
	number = uint32(len(t.prints))
	t.prints = append(t.prints, f)
	t.from = append(t.from, from)
	t.slots[slot] = number + 1
	if 3*len(t.prints) > 2*len(t.slots) {
		t.grow()
	}
	return number, false
}

func (t *table[S]) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	for i, f := range t.prints {
		slot, _ := t.find(f)
		t.slots[slot] = uint32(i) + 1
	}
}

// path is the numbers of the states on the way to one, from the start on.
func (t *table[S]) path(number uint32) []uint32 {
	var back []uint32
	for ; number != 0; number = t.from[number] {
		back = append(back, number)
	}
	for i, k := 0, len(back)-1; i < k; i, k = i+1, k-1 {
		back[i], back[k] = back[k], back[i]
	}
	return back
}
