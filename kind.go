package holdfast

import (
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Kind is the kind of lock that a name has. A name has one kind at a time, as long as
// it is held.
type Kind string

// The kinds of lock.
const (
	KindMutex     Kind = "mutex"
	KindSemaphore Kind = "semaphore"
	KindRWMutex   Kind = "rwmutex"
)

func kindOf(letter byte) Kind {
	switch letter {
	case keyspace.Permits:
		return KindSemaphore
	case keyspace.Reader, keyspace.Writer:
		return KindRWMutex
	}
	return KindMutex
}

// ErrKind means that the name has another kind. A [*KindError] names both kinds.
var ErrKind = errors.New("holdfast: the name has another kind")

// KindError has the requested kind of a name and its actual kind.
type KindError struct {
	Name       string
	Kind       Kind // requested
	Size       int  // requested size of a semaphore; else 0
	Actual     Kind
	ActualSize int // actual size of a semaphore, if known; else 0
}

func (e *KindError) Error() string {
	return fmt.Sprintf("holdfast: %s is %s, not %s", e.Name, described(e.Actual, e.ActualSize), described(e.Kind, e.Size))
}

// Unwrap returns [ErrKind].
func (e *KindError) Unwrap() error { return ErrKind }

func described(kind Kind, size int) string {
	switch {
	case kind == KindSemaphore && size > 0:
		return fmt.Sprintf("a semaphore of %d", size)
	case kind == KindRWMutex:
		return "an RWMutex"
	}
	return "a " + string(kind)
}
