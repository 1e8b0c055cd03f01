package driver

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"time"
)

// LazyStore is a [Store] that opens at its first use. Make it with [Lazy].
type LazyStore struct {
	open func() (Store, error)

	mu     sync.Mutex // protects the rest
	store  Store      // nil: not open
	try    *opening   // the newest: under way, or failed; nil before the first
	again  time.Time  // when to try again after a failure
	closed bool
}

// lazyPause is how long a failure to open is the answer: a quorum asks a node that is off
// thousands of times a second, and a client library that is opened costs a lot.
const lazyPause = 250 * time.Millisecond

// opening is one call of open. What it gave is there when done is closed.
type opening struct {
	done  chan struct{}
	store Store
	err   error
}

func (o *opening) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

var _ Store = (*LazyStore)(nil)

var (
	errLazyClosed  = errors.New("holdfast: the lazy store is closed")
	errLazySharded = errors.New("holdfast: Lazy cannot open a Redis Cluster: open its store before the Client")
	errLazyNil     = errors.New("holdfast: the function given to Lazy returned neither a store nor an error")
)

// Lazy returns a Store that calls open at its first use, and again at the next use
// after a failure. So a program can start while a node of its quorum is off, and uses
// that node when it returns:
//
//	node := func(url string) driver.Store {
//		return driver.Lazy(func() (driver.Store, error) { return rueidisstore.Open(url, nil) })
//	}
//
// Until open succeeds, each call returns the error of open or of its context. Only one
// open runs at a time, in its own goroutine, and at least 250 ms after a failure. A
// permanent error, such as a wrong password, should wrap a [ServerError]; it goes to
// callers at once. Lazy cannot open a Redis Cluster. Close the store when you no longer
// need it.
func Lazy(open func() (Store, error)) *LazyStore {
	if open == nil {
		panic("holdfast: Lazy needs a function that opens a store")
	}
	return &LazyStore{open: open}
}

// get is the store, opened if it has to be.
func (l *LazyStore) get(ctx context.Context) (Store, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errLazyClosed
	}
	if l.store != nil {
		l.mu.Unlock()
		return l.store, nil // it does not change
	}
	if l.try == nil || l.try.over() && !time.Now().Before(l.again) {
		l.try = &opening{done: make(chan struct{})}
		go l.run(l.try)
	}
	try := l.try
	l.mu.Unlock()
	select {
	case <-try.done:
		return try.store, try.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *LazyStore) run(try *opening) {
	store, err := l.open()
	switch {
	case err != nil:
	case store == nil:
		err = errLazyNil
	case store.Sharded():
		err = errors.Join(errLazySharded, closeStore(store))
	}
	l.mu.Lock()
	late := err == nil && l.closed
	switch {
	case late:
		err = errLazyClosed
	case err == nil:
		l.store, try.store = store, store
	}
	try.err, l.again = err, time.Now().Add(lazyPause)
	close(try.done)
	l.mu.Unlock()
	if late {
		_ = closeStore(store) // it may take long; nobody asked for it
	}
}

func closeStore(store Store) error {
	if c, ok := store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Close closes the opened store, if it has a Close method. The LazyStore does not open
// again. Close may be called more than once.
func (l *LazyStore) Close() error {
	l.mu.Lock()
	store, closed := l.store, l.closed
	l.closed = true
	l.mu.Unlock()
	if store == nil || closed {
		return nil
	}
	return closeStore(store)
}

// Eval runs one script. See [Store.Eval].
func (l *LazyStore) Eval(ctx context.Context, call Call) ([]string, error) {
	store, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return store.Eval(ctx, call)
}

// EvalAll runs the calls in one pipeline. See [Store.EvalAll].
func (l *LazyStore) EvalAll(ctx context.Context, calls []Call) []Result {
	store, err := l.get(ctx)
	if err != nil {
		return unopened(calls, err)
	}
	return store.EvalAll(ctx, calls)
}

// EvalWait runs the calls, followed by WAIT. See [Store.EvalWait].
func (l *LazyStore) EvalWait(ctx context.Context, calls []Call, replicas int, timeout time.Duration) ([]Result, int, error) {
	store, err := l.get(ctx)
	if err != nil {
		return unopened(calls, err), 0, err
	}
	return store.EvalWait(ctx, calls, replicas, timeout)
}

func unopened(calls []Call, err error) []Result {
	results := make([]Result, len(calls))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// Subscribe listens to one channel. See [Store.Subscribe].
func (l *LazyStore) Subscribe(ctx context.Context, channel string, message func(payload string)) (Subscription, error) {
	store, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return store.Subscribe(ctx, channel, message)
}

// Scan yields the keys that match. See [Store.Scan].
func (l *LazyStore) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		store, err := l.get(ctx)
		if err != nil {
			yield("", err)
			return
		}
		for key, err := range store.Scan(ctx, match) {
			if !yield(key, err) {
				return
			}
		}
	}
}

// SendsOnce reports whether the opened store sends each call once. It returns false
// before the store is open.
func (l *LazyStore) SendsOnce() bool {
	l.mu.Lock()
	store := l.store
	l.mu.Unlock()
	s, ok := store.(SendsOnce)
	return ok && s.SendsOnce()
}

// Sharded returns false: see [Lazy].
func (l *LazyStore) Sharded() bool { return false }
