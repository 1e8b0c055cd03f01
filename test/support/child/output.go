package child

import (
	"bytes"
	"sync"
)

// Output keeps the first megabyte of what a process prints. It can be read meanwhile.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer // protected by mu
}

// Write keeps what is printed.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() < 1<<20 {
		o.text.Write(text)
	}
	return len(text), nil
}

// String is what was printed.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
