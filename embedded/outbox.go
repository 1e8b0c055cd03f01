package embedded

import (
	"io"
	"sync"
)

// maxBehind is how much a reader may be behind before it is given up, as Redis
// does with a subscriber that does not read.
const maxBehind = 8 << 20

// outbox is a pipe whose Write never blocks. Miniredis publishes under its lock
// and waits for each subscriber to take the message: one that does not read must
// not stop everybody.
type outbox struct {
	giveUp func() // called when the reader is too far behind

	mu     sync.Mutex
	more   sync.Cond // on mu: data arrived, or no more will
	data   []byte
	closed bool
}

func newOutbox(giveUp func()) *outbox {
	o := &outbox{giveUp: giveUp}
	o.more.L = &o.mu
	return o
}

// Write never fails: miniredis would not know what to do with an error.
func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case len(o.data)+len(p) > maxBehind:
		o.data, o.closed = nil, true
		o.giveUp()
	default:
		o.data = append(o.data, p...)
	}
	o.more.Signal()
	return len(p), nil
}

// Read blocks until there is data. After close it gives what is left, then
// io.EOF.
func (o *outbox) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.data) == 0 && !o.closed {
		o.more.Wait()
	}
	if len(o.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.data)
	if o.data = o.data[n:]; len(o.data) == 0 {
		o.data = nil
	}
	return n, nil
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.more.Broadcast()
}
