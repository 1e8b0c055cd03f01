package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Event is the event that an [Entry] records.
type Event string

// The events. A loss is Lost, Revoked or Stolen. Only these take a lease from a program
// that has not ended it.
const (
	Asked    Event = "asked"    // a process joined the queue of the name
	Granted  Event = "granted"  // a caller got a lease
	Released Event = "released" // a program ended its lease, or an exported hold
	Exported Event = "exported" // a program ended its lease by an export: the name stays held
	Lost     Event = "lost"     // a lease expired, or was gone or taken
	Revoked  Event = "revoked"
	Stolen   Event = "stolen"
	Skipped  Event = "skipped" // a job did not run, because the name was held elsewhere
	Started  Event = "started" // a job began, under a lease
	Ended    Event = "ended"   // a job ended, with Code
	Dropped  Event = "dropped" // N entries of this Writer are missing before this one
)

// ends reports whether a lease is over with it.
func (w Event) ends() bool {
	return w == Released || w == Exported || w == Lost || w == Revoked || w == Stolen
}

// Entry is one entry of the journal. The field Event determines which other fields are
// set.
type Entry struct {
	ID          string        // ID in the stream; set by Read and Follow
	At          time.Time     // time of the event, by the server's clock
	Uncertainty time.Duration // largest error of At
	Event       Event

	Name   string
	Kind   holdfast.Kind // of Granted and the ends of leases
	Owner  string        // label of the lease; without one, of the Writer's process
	Token  int64
	Waited time.Duration  // Granted: since the call of Lock; Skipped: time in the queue
	Held   time.Duration  // ends of leases: duration; Ended: duration of the job; Dropped: from the first to the last
	Cause  holdfast.Cause // of a loss; of a Released: Closed, MaxHold, or Exported if it was an exported hold, whose Held is unknown
	Reason string         // Revoked and Stolen: the given reason; Skipped: the holder
	Code   int            // Ended: the exit code
	Client string         // Started: ID of the Client that holds the name
	Every  time.Duration  // Started: period of the schedule; 0: unknown; negative: none, as of a term of an election
	Expect time.Duration  // Started: longest run that is normal; 0: unknown
	N      int64          // Dropped: number of entries

	Writer string        // random id of the Writer
	Seq    int64         // number of the entry of its Writer, written or dropped, from 0
	Local  time.Duration // time of the event by the Writer's clock, since NewWriter

	maxLen int // Options.MaxLen of the Writer; 0: DefaultMaxLen
}

// more is what few entries have. Times are in microseconds.
type more struct {
	Kind   string `json:"kind,omitempty"` // empty: mutex
	Waited int64  `json:"waited,omitempty"`
	Held   int64  `json:"held,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"`
	Code   int    `json:"code,omitempty"`
	Client string `json:"client,omitempty"`
	Every  int64  `json:"every,omitempty"`
	Expect int64  `json:"expect,omitempty"`
	N      int64  `json:"n,omitempty"`
	MaxLen int    `json:"maxlen,omitempty"` // 0: DefaultMaxLen
}

// fields are those of an entry in the stream, in the order of the scripts; behind
// the ID when they are read.
const fields = 10

func (e *Entry) encode() []string {
	m := more{
		Waited: e.Waited.Microseconds(), Held: e.Held.Microseconds(),
		Cause: string(e.Cause), Reason: e.Reason, Code: e.Code, Client: e.Client, Every: e.period(), Expect: e.Expect.Microseconds(), N: e.N,
		MaxLen: e.maxLen,
	}
	if e.Kind != holdfast.KindMutex {
		m.Kind = string(e.Kind)
	}
	rest := ""
	if m != (more{}) {
		text, err := json.Marshal(m)
		if err != nil {
			panic("journal: " + err.Error()) // texts and numbers
		}
		rest = string(text)
	}
	return []string{
		e.Writer, itoa(e.Seq), itoa(e.Local.Microseconds()), itoa(e.At.UnixMicro()),
		itoa((e.Uncertainty + time.Microsecond - 1).Microseconds()), string(e.Event), e.Name, e.Owner, itoa(e.Token), rest,
	}
}

// period is Every in microseconds; -1: there is none.
func (e *Entry) period() int64 {
	if e.Every < 0 {
		return -1
	}
	return e.Every.Microseconds()
}

// ErrEntry means that an entry of the stream cannot be read: another program wrote it, or a
// newer holdfast. [Read] reports its ID and goes on.
var ErrEntry = errors.New("holdfast: journal: an entry cannot be read")

var events = []Event{Asked, Granted, Released, Exported, Lost, Revoked, Stolen, Skipped, Started, Ended, Dropped}

// decode reads an ID and the fields. now is the server's time. What no Writer wrote is an error.
func decode(texts []string, now time.Time) (Entry, error) {
	e := Entry{ID: texts[0], Writer: texts[1], Event: Event(texts[6]), Name: texts[7], Owner: texts[8]}
	bad := fmt.Errorf("%w: %s", ErrEntry, e.ID)
	id, err := parseID(e.ID)
	if err != nil || len(texts[10]) > maxMore {
		return Entry{}, bad
	}
	var local, at, within int64
	for i, figure := range map[int]*int64{2: &e.Seq, 3: &local, 4: &at, 5: &within, 9: &e.Token} {
		if *figure, err = strconv.ParseInt(texts[i], 10, 64); err != nil {
			return Entry{}, bad
		}
	}
	var m more
	if texts[10] != "" && json.Unmarshal([]byte(texts[10]), &m) != nil {
		return Entry{}, bad
	}
	if !counts(e.Seq, e.Token, m.N, int64(m.MaxLen)) || !lasts(local, -longest) || !lasts(within, 0) || !m.isPlain() || !arrived(at, id.ms, now) {
		return Entry{}, bad
	}
	e.Local, e.At, e.Uncertainty = us(local), time.UnixMicro(at), us(within)
	e.Kind = holdfast.Kind(m.Kind)
	if e.Kind == "" && (e.Event == Granted || e.Event.ends()) {
		e.Kind = holdfast.KindMutex
	}
	e.Waited, e.Held, e.Cause, e.Reason = us(m.Waited), us(m.Held), holdfast.Cause(m.Cause), m.Reason
	e.Code, e.Client, e.Every, e.Expect, e.N, e.maxLen = m.Code, m.Client, us(m.Every), us(m.Expect), m.N, m.MaxLen
	if e.Writer == "" || !isPlain(e.Writer, maxLabel) || !isPlain(e.Name, maxName) || !isPlain(e.Owner, maxLabel) || !slices.Contains(events, e.Event) {
		return Entry{}, bad
	}
	return e, nil
}

// isPlain reports whether a Writer can have written m.
func (m *more) isPlain() bool {
	return isPlain(m.Kind, maxLabel) && isPlain(m.Cause, maxLabel) && isPlain(m.Client, maxLabel) && isPlain(m.Reason, maxReason) &&
		lasts(m.Waited, 0) && lasts(m.Held, 0) && lasts(m.Expect, 0) && lasts(m.Every, -time.Microsecond) && isCode(int64(m.Code))
}

// bounded makes an entry of the program one that decode accepts.
func (e *Entry) bounded() {
	for text, most := range map[*string]int{&e.Owner: maxLabel, &e.Name: maxName, &e.Reason: maxReason, &e.Client: maxLabel} {
		*text = plain(*text, most)
	}
	e.Cause, e.Kind = holdfast.Cause(plain(string(e.Cause), maxLabel)), holdfast.Kind(plain(string(e.Kind), maxLabel))
	for _, d := range []*time.Duration{&e.Waited, &e.Held, &e.Expect} {
		*d = within(*d, 0)
	}
	e.Every = within(e.Every, -time.Microsecond)
	for _, n := range []*int64{&e.Token, &e.N} {
		*n = max(0, min(*n, maxCount))
	}
	e.Code = int(max(-maxCode, min(int64(e.Code), maxCode)))
}

func us(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// The keys of a prefix: a stream, and a hash of jobs, in a Cluster wherever they hash to.
const (
	streamPrefix = "holdfast/journal:"
	jobsPrefix   = "holdfast/jobs:"
)

// sumsKey is the key of the hourly sums of a prefix. It is in the slot of the stream, which a
// prefix with a hash tag decides itself.
func sumsKey(prefix string) string {
	if strings.Contains(prefix, "{") {
		return "holdfast/sums:" + prefix
	}
	return "holdfast/sums:{" + streamPrefix + prefix + "}"
}

// keyPrefix is what Options.Prefix of a Client comes to.
func keyPrefix(prefix string) string {
	switch prefix {
	case "":
		return holdfast.DefaultPrefix
	case holdfast.NoPrefix:
		return ""
	}
	return prefix
}

// word removes the spaces of a text, for a record whose fields they separate; "-" is none.
func word(text string) string {
	return cmp.Or(strings.Join(strings.Fields(plain(text, maxLabel)), ""), "-")
}
