package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

const (
	patience   = 2 * time.Second        // of one call that writes, and of Close
	toRead     = 10 * time.Second       // of one that reads
	impatience = 250 * time.Millisecond // of Close, where the last call failed
	jobsTTL    = 400 * 24 * time.Hour   // of what is known of jobs, from the newest run
	maxJobs    = 1000
)

// run writes batch after batch. It sends a batch again until Redis has confirmed it, so a
// batch may be written twice; a reader skips the numbers that it has read. After a timeout
// it sends smaller parts, or a slow server would write the batch again and again, and never
// in time.
func (w *Writer) run() {
	defer close(w.done)
	defer w.cancel()
	pace, failures, most := w.options.Every, 0, w.options.Batch
	for w.await() {
		w.sleep(pace)
		began := time.Now()
		batch := w.batch(most)
		n, err := w.write(batch)
		if err != nil {
			if errors.Is(err, errNoAnswer) {
				most = max(1, min(most, len(batch))/2)
			}
			w.failed(err)
			pace = min(50*time.Millisecond<<min(failures, 7), 5*time.Second)
			failures++
			continue
		}
		w.written(n)
		most = min(most+most/8+1, w.options.Batch)
		pace, failures = max(w.options.Every, 20*time.Since(began)), 0
	}
}

// await waits until there is something to write. It is false when there is nothing
// more to do, or Close gave up.
func (w *Writer) await() bool {
	for w.ctx.Err() == nil {
		if w.left() > 0 {
			return true
		}
		select {
		case <-w.news:
		case <-w.closing:
			return w.left() > 0
		}
	}
	return false
}

// sleep collects entries, so that the server has less work. Close and Flush end it early.
func (w *Writer) sleep(d time.Duration) {
	closing := w.closing
	select {
	case <-closing:
		if closing = nil; !w.inTrouble() {
			return
		}
		d = min(d, 50*time.Millisecond)
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-closing:
	case <-w.hurry:
	case <-w.ctx.Done():
	}
}

func (w *Writer) inTrouble() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}

func (w *Writer) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.buffer)
}

// batch returns the entries to write next, at most the given number. They stay in the buffer until they
// are written.
func (w *Writer) batch(most int) []noted {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.buffer), most)
	return w.buffer[:n:n]
}

func (w *Writer) written(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble {
		w.trouble, w.refused = false, false
		w.log(slog.LevelInfo, "holdfast: the journal can be written again", "dropped", w.lost)
	}
	clear(w.buffer[:n])
	w.buffer = w.buffer[n:]
	close(w.progress)
	w.progress = make(chan struct{})
	w.noteDropped(w.moment(time.Now()))
}

func (w *Writer) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	refused := impatienceWith(err) == 0
	if (!w.trouble || refused && !w.refused) && w.ctx.Err() == nil {
		level := slog.LevelInfo // it passes
		if refused {
			level = slog.LevelWarn
		}
		w.log(level, "holdfast: the journal can't be written; entries that do not fit into memory are dropped", "error", explained(err))
	}
	w.trouble, w.refused = true, refused
	if w.closed {
		time.AfterFunc(impatienceWith(err), w.cancel)
	}
}

// log calls the Logger on another goroutine, so that it delays nothing.
func (w *Writer) log(level slog.Level, text string, about ...any) {
	w.logging.Go(func() { w.options.Logger.Log(context.Background(), level, text, about...) })
}

// awaitLogger waits for the calls of the Logger, because the process may end after Close. It
// waits at most 1 s: the Logger is the user's code.
func (w *Writer) awaitLogger() {
	logged := make(chan struct{})
	go func() {
		w.logging.Wait()
		close(logged)
	}()
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-logged:
	case <-t.C:
	}
}

// impatienceWith is how long Close goes on trying after an error: not at all where
// the server will say the same again.
func impatienceWith(err error) time.Duration {
	if !errors.Is(explained(err), holdfast.ErrUnreachable) {
		return 0
	}
	return impatience
}

// write gives entries their time, sends them, and brings the jobs up to date. It returns the
// number of entries that are done. If only the jobs fail, it does not send the entries again:
// each try would push older ones out of the stream.
func (w *Writer) write(batch []noted) (int, error) {
	if !w.offset.fresh(w.moment(time.Now())) {
		if err := w.askTime(); err != nil {
			return 0, err
		}
	}
	if w.sent > 0 {
		batch = batch[:min(len(batch), w.sent)]
	}
	entries := make([]Entry, len(batch))
	for i, n := range batch {
		entries[i] = n.Entry
		entries[i].At, entries[i].Uncertainty = w.offset.server(n.moment)
	}
	if w.sent == 0 {
		if err := w.send(entries); err != nil {
			return 0, err
		}
		w.sent = len(entries)
	}
	err := w.note(entries)
	if err != nil && impatienceWith(err) > 0 {
		return 0, err
	}
	w.sent -= len(entries)
	if err != nil && !w.withoutJobs {
		w.withoutJobs = true
		w.log(slog.LevelWarn, "holdfast: the journal is written, but not its jobs", "error", explained(err))
	}
	return len(entries), nil
}

// askTime asks for the server's time. The first answer may come late, because the server has
// to load the script. Then it asks again: entries of different processes are ordered by time.
func (w *Writer) askTime() error {
	err := w.send(nil)
	if err == nil && w.offset.wide() {
		err = w.send(nil)
	}
	return err
}

// send writes entries and takes note of the server's time.
func (w *Writer) send(entries []Entry) error {
	args := make([]string, 0, 2+fields*len(entries))
	args = append(args, strconv.Itoa(w.options.MaxLen), itoa(streamTTL.Milliseconds()))
	for i := range entries {
		args = append(args, entries[i].encode()...)
	}
	asked := w.moment(time.Now())
	sums := sumsKey(w.options.Prefix)
	keys := []string{streamPrefix + w.options.Prefix, sums, sums + ":" + w.id}
	reply, err := w.caller.eval(w.ctx, driver.Call{Script: script.JournalWrite, Keys: keys, Args: args})
	answered := w.moment(time.Now())
	if err != nil {
		return err
	}
	if len(reply) != 2 || reply[0] != "written" {
		return fmt.Errorf("holdfast: journal: unexpected answer %q", reply)
	}
	server, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil {
		return err
	}
	w.offset = w.offset.updated(asked, answered, us(server))
	return nil
}

// note brings the jobs up to date.
func (w *Writer) note(entries []Entry) error {
	args := []string{strconv.Itoa(maxJobs), itoa(jobsTTL.Milliseconds())}
	for i := range entries {
		e := &entries[i]
		if e.Event == Started || e.Event == Ended || e.Event == Skipped {
			args = append(args, e.Name, string(e.Event), itoa(e.At.UnixMicro()), strconv.Itoa(max(0, e.Code)),
				itoa(e.Held.Milliseconds()), e.Owner, e.Writer, itoa(e.Seq), itoa(e.Token), word(e.Client), itoa(e.period()), itoa(e.Expect.Milliseconds()))
		}
	}
	if len(args) == 2 {
		return nil
	}
	_, err := w.caller.eval(w.ctx, driver.Call{Script: script.JobNote, Keys: []string{jobsPrefix + w.options.Prefix}, Args: args})
	return err
}

// caller makes one call at a time, and goes on when the store does not return.
type caller struct {
	store    driver.Store
	patience time.Duration // of one call
	busy     chan result   // of the call that did not return
}

type result struct {
	reply []string
	err   error
}

var errNoAnswer = errors.New("no answer in time")

// eval bounds a call. While one before it has not returned it only waits for that:
// calls must not pile up behind a server that hangs.
func (c *caller) eval(ctx context.Context, call driver.Call) ([]string, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if c.busy != nil {
		select {
		case <-c.busy:
			c.busy = nil
		case <-ctx.Done():
			return nil, errNoAnswer
		}
	}
	answer := make(chan result, 1)
	go func() {
		reply, err := c.store.Eval(ctx, call)
		answer <- result{reply, err}
	}()
	select {
	case r := <-answer:
		return r.reply, r.err
	case <-ctx.Done():
		c.busy = answer
		return nil, errNoAnswer
	}
}
