package master

// use hands out a token. All others are counted from it from now on. Who was
// robbed and does not know it yet may use one that is below: that is what a
// resource looks at tokens for.
func (w *world) use(token int8, robbed bool) {
	if token <= 0 {
		if !robbed {
			w.violate(tokenFell)
		}
		return
	}
	w.F -= token
	for p := range w.P {
		t := &w.P[p].Tokens
		t.Next, t.End = shift(t.Next, t.End, token)
		t.Spare, t.SpareEnd = shift(t.Spare, t.SpareEnd, token)
	}
	for k := range w.Net {
		if m := &w.Net[k]; m.Size > 0 {
			from, end := shift(m.Base, m.Base+m.Size, token)
			m.Base, m.Size = from, end-from
		}
	}
}

// shift counts a stride from a newer token. What lies below is one: it must not
// be used. A stride that has tokens keeps one.
func shift(from, end, by int8) (int8, int8) {
	if from == end {
		from = max(from-by, oldest)
		return from, from
	}
	from, end = max(from-by, oldest), max(end-by, oldest)
	return from, max(end, from+1)
}

// add is tokens.add.
func (t *tokens) add(base, size int8, anew bool) {
	end := base + size
	if !anew {
		base = max(base, t.Next, t.End)
	} else if size > 0 {
		t.Next, t.End = base, base
	}
	switch {
	case base >= end:
	case t.Next == t.End && t.Spare == t.SpareEnd:
		t.Next, t.End = base, end
	case t.Spare == t.SpareEnd:
		t.Spare, t.SpareEnd = base, end
	}
}

// take is tokens.take.
func (t *tokens) take() (token int8, ok bool) {
	if t.Next == t.End && t.Spare < t.SpareEnd {
		t.Next, t.End, t.Spare, t.SpareEnd = t.Spare, t.SpareEnd, oldest, oldest
	}
	if t.Next == t.End {
		return 0, false
	}
	t.Next++
	return t.Next - 1, true
}

// wanted is tokens.wanted: whether a renewal asks for a stride.
func (t *tokens) wanted(size int8) bool {
	return t.Spare >= t.SpareEnd && t.End-t.Next <= size/2
}

// rankTokens closes gaps between strides: tokens that nobody has or will have.
func (w *world) rankTokens() {
	var at [2 + 4*maxProcs + 2*maxNet]*int8
	n := 0
	put := func(t *int8) { at[n] = t; n++ }
	put(&w.F)
	for p := range w.P[:w.m.Procs] {
		t := &w.P[p].Tokens
		put(&t.Next)
		put(&t.End)
		put(&t.Spare)
		put(&t.SpareEnd)
	}
	var ends [maxNet]int8
	for k := range w.Net {
		if m := &w.Net[k]; m.Size > 0 {
			ends[k] = m.Base + m.Size
			put(&m.Base)
			put(&ends[k])
		}
	}
	var present [128]bool
	for _, t := range at[:n] {
		present[max(*t, 0)] = true
	}
	var to [128]int8
	last := 0
	for v := 1; v < len(to); v++ {
		if present[v] {
			to[v] = to[last] + min(int8(v-last), w.m.Stride)
			last = v
		}
	}
	for _, t := range at[:n] {
		if *t > 0 {
			*t = to[*t]
		}
	}
	for k := range w.Net {
		if m := &w.Net[k]; m.Size > 0 {
			m.Size = ends[k] - m.Base
		}
	}
}
