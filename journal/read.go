package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Query selects entries. The zero value selects all, oldest first.
type Query struct {
	KeyPrefix string // Options.Prefix of the Writers

	Name   string // only entries of this name
	Prefix string // only entries of names with this prefix
	Event  Event  // only entries of this event
	// Dropped entries have no name; a Read yields them for every Name and Prefix.

	Since, Until time.Time // only events in between; zero means no bound
	After        string    // only entries after the one with this ID in the stream
	Limit        int       // maximum number of entries; 0 means all
	Newest       bool      // newest first

	pages int // pages to read; 0: all
}

// pageSize is how many entries of the stream one call reads. That takes about a millisecond
// of the server's time.
const pageSize = 500

// wants checks what the scripts can't.
func (q *Query) wants(e *Entry) bool {
	return (q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || !e.At.After(q.Until))
}

// Read yields entries in the order of the stream. That is the order of arrival, which
// can differ from the order of [Entry.At]. It yields an entry once, also if it was
// written twice. Read is not a snapshot: with the oldest first, it also yields entries
// that arrive meanwhile.
//
// It ends after an error: [holdfast.ErrUnreachable] if the server does not answer for
// 10 s, a [driver.ServerError], or the error of ctx. It goes on after [ErrEntry].
func Read(ctx context.Context, store driver.Store, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := reader{caller: caller{store: store, patience: toRead}, query: q, repeats: repeats{back: q.Newest}}
		least, most := id{}, lastID
		if !q.Since.IsZero() {
			least = idAt(q.Since) // nothing comes to the stream before it happened
		}
		if q.After != "" {
			after, err := parseID(q.After)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			least = after.next()
		}
		for left := q.pages; ; left-- {
			p, err := r.page(ctx, least, most)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !r.give(p, yield) || p.scanned < pageSize || left == 1 || p.cursor == lastID && !q.Newest {
				return
			}
			if q.Newest {
				most = p.cursor.before()
			} else {
				least = p.cursor.next()
			}
		}
	}
}

// reader reads pages for one query.
type reader struct {
	caller caller
	query  Query
	given  int
	repeats
}

// page is what one call found.
type page struct {
	oldest, newest id // of the stream; zero if there is none
	scanned        int
	cursor         id // of the last that was looked at
	entries        []Entry
	bad            []error
}

func (r *reader) page(ctx context.Context, least, most id) (*page, error) {
	way := "forth"
	if r.query.Newest {
		way = "back"
	}
	reply, err := r.caller.eval(ctx, driver.Call{
		Script: script.JournalRead, Keys: []string{streamPrefix + keyPrefix(r.query.KeyPrefix)},
		Args: []string{least.String(), most.String(), way, strconv.Itoa(pageSize), r.query.Name, r.query.Prefix, string(r.query.Event)},
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, explained(err)
	case len(reply) < 6 || reply[0] != "read" || (len(reply)-6)%(fields+1) != 0:
		return nil, errUnexpected
	}
	us, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil || us < 0 || us > maxCount {
		return nil, errUnexpected
	}
	p, now := &page{}, time.UnixMicro(us)
	p.scanned, _ = strconv.Atoi(reply[4])
	for i, at := range map[int]*id{2: &p.oldest, 3: &p.newest, 5: &p.cursor} {
		if reply[i] != "" {
			if *at, err = parseID(reply[i]); err != nil {
				return nil, err
			}
		}
	}
	for rest := reply[6:]; len(rest) > 0; rest = rest[fields+1:] {
		e, err := decode(rest[:fields+1], now)
		if err != nil {
			p.bad = append(p.bad, err)
			continue
		}
		p.entries = append(p.entries, e)
	}
	return p, nil
}

// give yields what is wanted and new. It is false when that is enough.
func (r *reader) give(p *page, yield func(Entry, error) bool) bool {
	for _, err := range p.bad {
		if !yield(Entry{}, err) {
			return false
		}
	}
	for _, e := range p.entries {
		if r.take(&e) || !r.query.wants(&e) {
			continue
		}
		if !yield(e, nil) {
			return false
		}
		if r.given++; r.given == r.query.Limit {
			return false
		}
	}
	return true
}

// id is that of an entry in a stream. A client that adds one can choose any.
type id struct{ ms, seq uint64 }

// lastID is the highest that there can be.
var lastID = id{math.MaxUint64, math.MaxUint64}

func parseID(text string) (id, error) {
	first, second, _ := strings.Cut(text, "-")
	ms, err := strconv.ParseUint(first, 10, 64)
	seq, err2 := strconv.ParseUint("0"+second, 10, 64)
	if err != nil || err2 != nil {
		return id{}, fmt.Errorf("holdfast: journal: %q is not the ID of an entry", text)
	}
	return id{ms, seq}, nil
}

// idAt is the first at a time.
func idAt(t time.Time) id { return id{uint64(max(0, t.UnixMilli())), 0} }

func (i id) String() string {
	return strconv.FormatUint(i.ms, 10) + "-" + strconv.FormatUint(i.seq, 10)
}

func (i id) less(j id) bool { return i.ms < j.ms || i.ms == j.ms && i.seq < j.seq }

// next is the id after i; lastID stays.
func (i id) next() id {
	switch {
	case i == lastID:
		return i
	case i.seq == math.MaxUint64:
		return id{i.ms + 1, 0}
	}
	return id{i.ms, i.seq + 1}
}

// before is the id before i; the first stays.
func (i id) before() id {
	switch {
	case i == id{}:
		return i
	case i.seq == 0:
		return id{i.ms - 1, math.MaxUint64}
	}
	return id{i.ms, i.seq - 1}
}

var errUnexpected = errors.New("holdfast: journal: unexpected answer of the server")

// explained makes an error of a call one that says what to do.
func explained(err error) error {
	var said driver.ServerError
	if !errors.As(err, &said) {
		return fmt.Errorf("holdfast: journal: %w: %w", holdfast.ErrUnreachable, err)
	}
	kind, _, _ := strings.Cut(string(said), " ")
	if kind == "NOPERM" || strings.Contains(string(said), "ACL failure in script") || strings.Contains(string(said), "The user executing the script") {
		return fmt.Errorf("holdfast: journal: the server's user lacks a right that the journal needs (to read +xrange +xrevrange +hgetall +hlen +xlen ~holdfast/*, to write also +xadd +hget +hset +hstrlen +hdel): %w", err)
	}
	switch kind {
	case "READONLY", "LOADING", "BUSY", "OOM", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "MOVED", "ASK":
		return fmt.Errorf("holdfast: journal: %w: %w", holdfast.ErrUnreachable, err)
	}
	return fmt.Errorf("holdfast: journal: %w", err)
}
