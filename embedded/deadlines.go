package embedded

import "container/heap"

// deadline is when a key is over, in milliseconds since the store's epoch.
type deadline struct {
	key   string
	at    int64
	index int // in the heap
}

// deadlines knows which key is over next. It is a hint, kept cheap: a key that
// was deleted stays in it until its time, and miniredis is asked before anything
// is done. One entry per key name, however often its deadline moves.
type deadlines struct {
	keys map[string]*deadline
	heap deadlineHeap
}

// set moves key's deadline.
func (d *deadlines) set(key string, at int64) {
	if known, ok := d.keys[key]; ok {
		known.at = at
		heap.Fix(&d.heap, known.index)
		return
	}
	if d.keys == nil {
		d.keys = map[string]*deadline{}
	}
	entry := &deadline{key: key, at: at}
	d.keys[key] = entry
	heap.Push(&d.heap, entry)
}

// pop takes out one key whose deadline is not after now.
func (d *deadlines) pop(now int64) (key string, ok bool) {
	if len(d.heap) == 0 || d.heap[0].at > now {
		return "", false
	}
	entry, _ := heap.Pop(&d.heap).(*deadline)
	delete(d.keys, entry.key)
	return entry.key, true
}

// deadlineHeap implements heap.Interface.
type deadlineHeap []*deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *deadlineHeap) Push(x any) {
	entry, _ := x.(*deadline)
	entry.index = len(*h)
	*h = append(*h, entry)
}

func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	entry := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return entry
}
