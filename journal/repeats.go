package journal

// repeats knows which entries were read before. If the answer to a batch was lost, the batch is
// written again. The first copy may arrive in the stream later than the second, and later than
// newer entries: a server that was frozen serves its connections in any order.
type repeats struct {
	back  bool // newest first
	last  recent[string, int64]
	taken recent[numbered, struct{}]
}

// numbered is what no two entries share.
type numbered struct {
	writer string
	seq    int64
}

// take notes an entry. again: it was read before. Read with the oldest first, the numbers of a
// Writer rise, except repeats. Read with the newest first, they do not always fall: numbers in
// between may come later.
func (r *repeats) take(e *Entry) (again bool) {
	if e.Writer == "" {
		return false
	}
	if r.back {
		_, again = r.taken.get(numbered{e.Writer, e.Seq})
		r.taken.put(numbered{e.Writer, e.Seq}, struct{}{})
		return again
	}
	last, known := r.last.get(e.Writer)
	if again = known && e.Seq <= last; !again {
		r.last.put(e.Writer, e.Seq)
	}
	return again
}

// remembered is how many keys a recent keeps at least; it keeps at most twice that. Each command
// that is run has its own Writer, and a program may follow a journal for months.
const remembered = 10_000

// recent is a map that forgets what was used longest ago.
type recent[K comparable, V any] struct{ young, old map[K]V }

func (r *recent[K, V]) get(key K) (value V, known bool) {
	if value, known = r.young[key]; known {
		return value, true
	}
	if value, known = r.old[key]; known {
		r.put(key, value)
	}
	return value, known
}

func (r *recent[K, V]) put(key K, value V) {
	if len(r.young) >= remembered {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = make(map[K]V)
	}
	r.young[key] = value
}
