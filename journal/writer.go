package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

// DefaultMaxLen is how many entries the stream keeps unless Options say otherwise.
const DefaultMaxLen = 100_000

// Options are the settings of a Writer. The zero value of each field, and nil
// *Options, mean the default.
type Options struct {
	// Prefix is that of the Client whose events are written. Each prefix has a
	// journal of its own. Default holdfast.DefaultPrefix; holdfast.NoPrefix for none.
	Prefix string

	// Owner is the label of this process in what it writes. Default host:pid, as the
	// Client's.
	Owner string

	// MaxLen is about how many entries the stream keeps, some 200 bytes each in
	// Redis; older ones are dropped by whoever writes. Default DefaultMaxLen.
	MaxLen int

	// Batch is how many entries are written at a time. Default 200, a millisecond of
	// the server's time; at most 1,000.
	Batch int

	// Every is how long entries are gathered for a batch, and so how late they come.
	// Batch / Every bounds what this process writes: 4,000 entries a second by
	// default. Where a batch takes longer than a twentieth of it the pause grows, so
	// that a busy server is not made busier. Default 50 ms.
	Every time.Duration

	// Buffer is how many entries are kept while they can't be written; the rest is
	// dropped, and told. Default 10,000, a few megabytes.
	Buffer int

	// Logger is told when the journal can't be written, and when it can again: Info
	// where Redis does not answer, Warn where it refuses, as for want of a right.
	// Default slog.Default().
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.MaxLen < 0 || v.Batch < 0 || v.Batch > 1000 || v.Every < 0 || v.Buffer < 0 {
		panic("journal: Options.MaxLen, Every and Buffer must not be negative, Batch from 0 to 1,000")
	}
	v.Prefix = keyPrefix(v.Prefix)
	if v.Owner == "" {
		host, err := os.Hostname()
		if err != nil || host == "" {
			host = filepath.Base(os.Args[0])
		}
		v.Owner = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	v.Owner = cut(v.Owner, 64)
	v.MaxLen = orDefault(v.MaxLen, DefaultMaxLen)
	v.Batch = orDefault(v.Batch, 200)
	v.Every = orDefault(v.Every, 50*time.Millisecond)
	v.Buffer = orDefault(v.Buffer, 10_000)
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	return v
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Writer writes a journal. It is safe for concurrent use; one for a process is
// what is meant. No call but Close waits for anything.
type Writer struct {
	options Options
	caller  caller
	id      string
	began   time.Time

	ctx     context.Context // ends when Close gives up
	cancel  context.CancelFunc
	news    chan struct{} // takes one: there is something to write
	hurry   chan struct{} // takes one: somebody waits until it is written
	closing chan struct{}
	done    chan struct{}

	// Of the one goroutine that writes.
	offset offset

	mu      sync.Mutex // guards the rest
	closed  bool
	trouble bool // the last call failed
	refused bool // the server refused it for good
	seq     int64
	buffer  []noted // not yet written, oldest first
	missing gap     // dropped and not yet told
	lost    int64   // dropped in all
	last    moment  // of the newest event

	progress chan struct{} // closed, and made anew, whenever something was written

	telling sync.WaitGroup // of the Logger
}

// noted is an entry whose time by the server's clock is not known yet.
type noted struct {
	Entry
	moment moment
}

// gap is a run of entries that were dropped.
type gap struct {
	n     int64
	first moment
}

// NewWriter makes a Writer and starts it. A store is what Clients are made on; on
// a quorum, any one server that all its processes reach. A nil store and options out of range are
// mistakes of the program: it panics. Close ends it.
func NewWriter(store holdfast.Store, options *Options) *Writer {
	if store == nil {
		panic("journal: NewWriter needs a store")
	}
	w := &Writer{
		options: options.withDefaults(),
		caller:  caller{store: store, patience: patience},
		id:      fmt.Sprintf("%016x", rand.Uint64()),
		began:   time.Now(),
		news:    make(chan struct{}, 1),
		hurry:   make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),

		progress: make(chan struct{}),
	}
	w.last = w.moment(w.began)
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go w.run()
	return w
}

// OnEvent is for holdfast.Options.OnEvent, alone or called by a function that does
// more. It keeps what an Entry can tell and returns at once.
func (w *Writer) OnEvent(event holdfast.Event) {
	switch e := event.(type) {
	case holdfast.Queued:
		if e.Joined {
			w.Note(Entry{What: Asked, Name: e.Name})
		}
	case holdfast.Granted:
		w.Note(Entry{What: Granted, At: e.At, Name: e.Name, Kind: e.Kind, Token: e.Token, Waited: e.Waited})
	case holdfast.Released:
		w.Note(Entry{What: Released, At: e.At, Name: e.Name, Kind: e.Kind, Token: e.Token, Held: e.Held})
	case holdfast.Lost:
		w.Note(Entry{What: lossOf(e.Cause), At: e.At, Name: e.Name, Kind: e.Kind, Token: e.Token, Held: e.Held, Cause: e.Cause, Reason: e.Reason})
	case holdfast.Dropped:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.drop(int64(e.N), w.last)
		w.tellDropped(w.moment(time.Now()))
	}
}

func lossOf(cause holdfast.Cause) What {
	switch cause {
	case holdfast.Revoked:
		return Revoked
	case holdfast.Stolen:
		return Stolen
	}
	return Lost
}

// Note adds an entry. What and Name are the caller's, as are the other fields that
// What has; At is a time of this process, and now if it is zero. Owner, where it is empty, and the
// rest are filled in.
func (w *Writer) Note(e Entry) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if e.Owner == "" {
		e.Owner = w.options.Owner
	}
	e.Owner, e.Name, e.Reason = cut(e.Owner, 64), cut(e.Name, 512), cut(e.Reason, 512)
	m := w.moment(e.At)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = m
	if w.closed || len(w.buffer) >= w.options.Buffer {
		w.drop(1, m)
		return
	}
	w.tellDropped(m)
	w.add(e, m)
}

func (w *Writer) moment(at time.Time) moment { return moment{at.Sub(w.began), at.Round(0)} }

func (w *Writer) add(e Entry, m moment) {
	e.ID, e.Writer, e.Seq, e.Local = "", w.id, w.seq, m.local
	w.seq++
	w.buffer = append(w.buffer, noted{e, m})
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// drop counts what is not written. It uses up its numbers, so that readers see the
// hole whether or not they are told of it.
func (w *Writer) drop(n int64, m moment) {
	if w.missing.n == 0 {
		w.missing.first = m
	}
	w.missing.n += n
	w.lost += n
	w.seq += n
}

// tellDropped adds the entry about what was dropped, if there was any.
func (w *Writer) tellDropped(now moment) {
	if w.missing.n == 0 || w.closed || len(w.buffer) >= w.options.Buffer {
		return
	}
	e := Entry{What: Dropped, Owner: w.options.Owner, N: w.missing.n, Held: now.local - w.missing.first.local}
	w.missing = gap{}
	w.add(e, now)
}

// Dropped is how many entries were not written and never will be.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Flush waits until what was noted before is written, or ctx ends. Events of a
// Client come a moment after what they tell: Client.Close waits for them.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	until := w.seq
	if w.missing.n > 0 {
		until++ // the entry that tells of them
	}
	w.mu.Unlock()
	for {
		w.mu.Lock()
		written := len(w.buffer) == 0 && w.seq >= until || len(w.buffer) > 0 && w.buffer[0].Seq >= until
		progress := w.progress
		w.mu.Unlock()
		if written {
			return nil
		}
		select {
		case w.hurry <- struct{}{}:
		default:
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.done:
			return errClosed
		}
	}
}

var errClosed = errors.New("holdfast: journal: the Writer was closed before that was written")

// Close writes what there is, for two seconds at most, a quarter of one when a call
// fails, and not again what the server refused for good. The error says how many entries were not
// written. What is noted afterwards is dropped. Close the Clients first. The Logger has been told
// all when Close returns, unless it takes longer than a second.
func (w *Writer) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.tellDropped(w.moment(time.Now()))
		w.closed = true
		close(w.closing)
	}
	bound := patience
	switch {
	case w.refused:
		bound = 0
	case w.trouble:
		bound = impatience
	}
	w.mu.Unlock()
	giveUp := time.AfterFunc(bound, w.cancel)
	defer giveUp.Stop()
	<-w.done
	w.awaitTold()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.buffer); n > 0 {
		return fmt.Errorf("holdfast: journal: closed with %d entries that were not written", n)
	}
	return nil
}
