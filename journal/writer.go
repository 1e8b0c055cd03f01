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
	"github.com/holdfast-go/holdfast/driver"
)

// DefaultMaxLen is the default of [Options.MaxLen].
const DefaultMaxLen = 100_000

// Options are the settings of a [Writer]. The zero value of a field, and nil Options,
// mean the default.
type Options struct {
	// Prefix is the prefix of the Client whose events are written. Each prefix has its
	// own journal. The default is [holdfast.DefaultPrefix]; [holdfast.NoPrefix] means
	// none.
	Prefix string

	// Owner is the label of this process in its entries. The default is host:pid, like
	// that of a Client.
	Owner string

	// MaxLen is about how many entries the stream keeps, each about 200 bytes in Redis.
	// Every Writer removes older ones. The default is [DefaultMaxLen].
	MaxLen int

	// Batch is the largest number of entries in one write. The default is 200, and the
	// maximum 1,000.
	Batch int

	// Every is how long a Writer collects entries for a batch. Batch / Every bounds the
	// rate of a process, by default to 4,000 entries per second. The pause grows if a
	// batch takes longer than a twentieth of Every, to protect a busy server. The
	// default is 50 ms.
	Every time.Duration

	// Buffer is how many entries a Writer keeps while it cannot write. It drops further
	// entries and records their number. The default is 10,000, a few megabytes.
	Buffer int

	// Logger logs when the journal cannot be written, and when it can again. The level
	// is Info if Redis does not answer, and Warn if Redis refuses. The default is
	// [slog.Default].
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
	v.Owner = plain(v.Owner, maxLabel)
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

// Writer writes a journal. It is safe for concurrent use. Make one for each process:
// its Clients can share it. Only Close and Flush block.
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
	offset      offset
	sent        int  // entries at the front of buffer that are in the stream, and not in the jobs
	withoutJobs bool // the server refused the jobs for good

	mu      sync.Mutex // protects the rest
	closed  bool
	trouble bool // the last call failed
	refused bool // the server refused it for good
	seq     int64
	buffer  []noted // not yet written, oldest first
	missing gap     // dropped, and no entry says so yet
	lost    int64   // dropped in all
	last    moment  // of the newest event

	progress chan struct{} // closed and replaced after each write

	logging sync.WaitGroup // of the Logger
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

// NewWriter returns a Writer and starts it; [Writer.Close] ends it. The store is that
// of a Client; for a quorum, use any one server that all processes reach. NewWriter
// panics if store is nil or an option is out of range.
func NewWriter(store driver.Store, options *Options) *Writer {
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

// OnEvent records an event; set it as [holdfast.Options.OnEvent], or call it from such
// a function. It does not block.
func (w *Writer) OnEvent(event holdfast.Event) {
	switch e := event.(type) {
	case holdfast.Queued:
		if e.Joined {
			w.Note(Entry{Event: Asked, Name: e.Name})
		}
	case holdfast.Granted:
		w.Note(Entry{Event: Granted, At: e.At, Name: e.Name, Kind: e.Kind, Owner: e.Owner, Token: e.Token, Waited: e.Waited})
	case holdfast.Released:
		w.Note(Entry{Event: Released, At: e.At, Name: e.Name, Kind: e.Kind, Owner: e.Owner, Token: e.Token, Held: e.Held})
	case holdfast.Lost:
		w.Note(Entry{Event: endBy(e.Cause), At: e.At, Name: e.Name, Kind: e.Kind, Owner: e.Owner, Token: e.Token, Held: e.Held, Cause: e.Cause, Reason: e.Reason})
	case holdfast.LeaseExported:
		w.Note(Entry{Event: Exported, At: e.At, Name: e.Name, Kind: e.Kind, Owner: e.Owner, Token: e.Token, Held: e.Held})
	case holdfast.ExportReleased:
		w.Note(Entry{Event: Released, At: e.At, Name: e.Name, Kind: e.Kind, Owner: e.Owner, Token: e.Token, Cause: holdfast.Exported})
	case holdfast.Dropped:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.drop(int64(e.N), w.last)
		w.noteDropped(w.moment(time.Now()))
	case holdfast.Renewed, holdfast.RenewFailed, holdfast.Recalled, holdfast.Repaired, holdfast.SizeMismatch,
		holdfast.SubscriptionConfirmed, holdfast.SubscriptionBroken: // none begins or ends a lease or a wait
	}
}

// endBy is the event of a lease that ended before its release. A program that closed its
// Client, or set MaxHold, has ended the lease itself.
func endBy(cause holdfast.Cause) Event {
	switch cause {
	case holdfast.Closed, holdfast.MaxHold:
		return Released
	case holdfast.Revoked:
		return Revoked
	case holdfast.Stolen:
		return Stolen
	}
	return Lost
}

// Note adds an entry. The caller sets Event, Name and the other fields of that Event. At
// is a time of this process, in the last 31 days; zero means now. An empty Owner and the
// other fields are filled in. Note cuts long texts, and replaces control characters.
func (w *Writer) Note(e Entry) {
	now := time.Now()
	switch ago := now.Sub(e.At); {
	case e.At.IsZero() || ago < 0:
		e.At = now
	case ago > oldest:
		e.At = now.Add(-oldest)
	}
	if e.Owner == "" {
		e.Owner = w.options.Owner
	}
	e.bounded()
	m := w.moment(e.At)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = m
	if w.closed || len(w.buffer) >= w.options.Buffer {
		w.drop(1, m)
		return
	}
	w.noteDropped(m)
	w.add(e, m)
}

func (w *Writer) moment(at time.Time) moment {
	return moment{within(at.Sub(w.began), -longest), at.Round(0)}
}

func (w *Writer) add(e Entry, m moment) {
	e.ID, e.Writer, e.Seq, e.Local = "", w.id, w.seq, m.local
	if w.options.MaxLen != DefaultMaxLen {
		e.maxLen = w.options.MaxLen
	}
	w.seq++
	w.buffer = append(w.buffer, noted{e, m})
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// drop counts n entries that are not written. They use up their numbers, so that readers see
// the hole even if the entry Dropped is missing.
func (w *Writer) drop(n int64, m moment) {
	if w.missing.n == 0 {
		w.missing.first = m
	}
	w.missing.n += n
	w.lost += n
	w.seq += n
}

// noteDropped adds the entry about what was dropped, if there was any.
func (w *Writer) noteDropped(now moment) {
	if w.missing.n == 0 || w.closed || len(w.buffer) >= w.options.Buffer {
		return
	}
	e := Entry{Event: Dropped, Owner: w.options.Owner, N: w.missing.n, Held: now.local - w.missing.first.local}
	w.missing = gap{}
	w.add(e, now)
}

// Dropped returns the number of entries that were dropped.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Flush blocks until all earlier entries are written, or ctx ends. The events of a
// Client arrive a moment later: [holdfast.Client.Close] waits for them.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	until := w.seq
	if w.missing.n > 0 {
		until++ // the entry Dropped
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

var errClosed = errors.New("holdfast: journal: the Writer was closed before the entry was written")

// Close writes the remaining entries and ends the Writer. Close the Clients first. It
// blocks for two seconds at most, and for 0.25 s after a failed call. It does not retry
// after a permanent error of the server. It waits up to one second more for the Logger.
//
// The error has the number of entries that were not written. Later entries are dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.noteDropped(w.moment(time.Now()))
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
	w.awaitLogger()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.buffer); n > 0 {
		return fmt.Errorf("holdfast: journal: closed; %d entries were not written", n)
	}
	return nil
}
