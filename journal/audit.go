package journal

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Verdict is the conclusion of an [Audit].
type Verdict string

// The verdicts.
const (
	Proved   Verdict = "proved"   // no two leases of a name overlapped, and tokens always rose
	Refuted  Verdict = "refuted"  // leases overlapped or tokens did not rise: Report.Findings has the events
	Unproven Verdict = "unproven" // no violation was found, but some facts are missing: see Report.Reasons
)

// MaxUncertainty is the longest overlap that clock errors may have hidden in a proof.
// It is the shortest ttl.
const MaxUncertainty = holdfast.MinTTL

// maxFindings bounds each list of a Report; what is beyond is counted.
const maxFindings = 20

// Report is the result of an [Audit].
type Report struct {
	Verdict Verdict
	Reasons []string // reasons of Unproven, each a sentence

	Entries    int // entries that were read
	Unreadable int // entries that are ErrEntry
	Names      int // names of the checked leases
	Leases     int // checked leases
	Shared     int // leases of semaphores and RWMutexes; they may overlap and are not checked
	From, To   time.Time

	// Uncertainty is the longest time that two leases may have overlapped within the
	// error of the clocks. It is 0 if each lease certainly ended before the next began.
	Uncertainty time.Duration

	Findings []Finding // violations; at most 20
	Holes    []Hole    // gaps; at most 20
	Missing  int64     // entries missing in all gaps
	Unended  []Unended // leases without an end before the next grant of the name; at most 20
}

// Finding is a violation that refutes the promises of a lock, with its two or three
// events.
type Finding struct {
	Rule  Rule
	Name  string
	First Entry         // lease with the lower token: its grant, or its end if the grant is missing
	End   *Entry        // Overlap: end of the first lease
	Then  Entry         // lease with the higher token: its grant
	By    time.Duration // shortest possible duration of the violation
}

// Rule is the rule that a [Finding] violates.
type Rule string

// The rules.
const (
	Overlap    Rule = "overlap"     // Then was granted before First had ended
	TokenFell  Rule = "token fell"  // Then was granted before First, with a higher token
	TokenTwice Rule = "token twice" // both leases have the same token
)

// String returns the finding as a sentence.
func (f Finding) String() string {
	switch f.Rule {
	case TokenTwice:
		return fmt.Sprintf("%s: token %d was granted twice: to %s at %s and to %s at %s", f.Name, f.Then.Token, f.First.Owner, clockTime(f.First.At), f.Then.Owner, clockTime(f.Then.At))
	case TokenFell:
		return fmt.Sprintf("%s: tokens fell: %s got %d at %s, and %s after that the lower %d, at %s", f.Name, f.Then.Owner, f.Then.Token, clockTime(f.Then.At), f.First.Owner, f.First.Token, clockTime(f.First.At))
	}
	how := string(f.End.Event)
	if f.End.Cause != "" && f.End.Event == Lost {
		how += ", " + string(f.End.Cause)
	}
	return fmt.Sprintf("%s: two leases overlapped by %v: %s held token %d until %s (%s), and %s was granted token %d at %s", f.Name, f.By, f.First.Owner, f.First.Token, clockTime(f.End.At), how, f.Then.Owner, f.Then.Token, clockTime(f.Then.At))
}

func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Hole is a gap in the entries of one [Writer].
type Hole struct {
	Owner         string
	N             int64
	After, Before time.Time
	Reported      bool // the Writer recorded that it dropped them
}

// Unended is a lease without an end in the journal: its process was killed, or cannot
// reach Redis.
type Unended struct {
	Lease Entry
	Next  Entry         // next grant of the name
	Gap   time.Duration // between the two grants
}

// Audit checks the leases in entries: of all names, or of names with one of the
// prefixes. It leaves out entries before since; the zero time leaves out none. The
// entries must come from a [Read] without filters, oldest first. Audit keeps about
// 500 bytes for each lease in memory.
//
// The verdict is [Proved] if no two leases of a name overlapped and each token was
// higher than all before. It is [Refuted] if events show a violation. It is [Unproven]
// if entries are missing or unreadable, the end of a lease is unknown, or the times are
// too inexact.
//
// A Writer numbers its entries from 0. So its first entries are missing if the journal
// begins with a later one: Redis lost them. Audit does not look for that if the stream
// has Options.MaxLen entries, because Writers then remove the oldest.
//
// Audit does not check leases before the first entry, nor entries that a killed process
// had not written. A Writer detects a server clock that steps back, if it wrote before
// and after. Around a step only violations count that the step cannot explain.
//
// Audit takes for a lease what its process believed. A stolen lease lasts until its
// process notices the loss, so it can overlap with the next. An exported lease ends at
// its export. Work under the text of Lease.Export is not in the journal until a process
// adopts it.
//
// Audit counts entries that are [ErrEntry] and returns any other error of the sequence.
func Audit(entries iter.Seq2[Entry, error], since time.Time, prefixes ...string) (*Report, error) {
	a := auditor{since: since, prefixes: prefixes, maxLen: math.MaxInt, names: map[string]*history{}, writers: map[string]*Entry{}}
	for e, err := range entries {
		switch {
		case errors.Is(err, ErrEntry):
			a.report.Unreadable++
		case err != nil:
			return nil, err
		default:
			a.take(e)
		}
	}
	a.begins()
	for _, name := range sortedKeys(a.names) {
		a.check(name, a.names[name])
	}
	a.conclude()
	return &a.report, nil
}

func sortedKeys(m map[string]*history) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// auditor collects leases by name.
type auditor struct {
	since    time.Time
	prefixes []string
	names    map[string]*history
	writers  map[string]*Entry // the newest entry of each
	maxLen   int               // of the Writer that keeps the fewest
	read     int               // entries, also those before since
	headless []*Entry          // the first entry of each Writer that has no entry 0
	backs    setBacks
	report   Report
	unended  int
	found    int
}

// history is what one name went through.
type history struct {
	leases []*lease
	open   map[leaseKey]*lease
}

// leaseKey is what differs between the leases of one name. A token of two Writers is two leases:
// that is what is looked for.
type leaseKey struct {
	writer string
	token  int64
}

type lease struct {
	grant, end *Entry // either may be nil
	begin      span
	over       span // of end; where that is nil unknown
}

// span is when something happened: by its Writer's clock, and between which two
// moments by the server's.
type span struct {
	known            bool
	writer           string
	local            time.Duration
	earliest, latest time.Time
}

func spanOf(e *Entry) span {
	return span{true, e.Writer, e.Local, e.At.Add(-e.Uncertainty), e.At.Add(e.Uncertainty)}
}

// earlier is the same a time before.
func (s span) earlier(d time.Duration) span {
	s.local -= d
	s.earliest, s.latest = s.earliest.Add(-d-drift(d)), s.latest.Add(-d+drift(d))
	return s
}

// surelyAfter is by how much s was at least after t, with any error of the clocks; 0 or less:
// not surely.
func (s span) surelyAfter(t span) time.Duration {
	if s.writer != "" && s.writer == t.writer {
		return s.local - t.local
	}
	return s.earliest.Sub(t.latest)
}

func (a *auditor) take(e Entry) {
	a.read++
	a.maxLen = min(a.maxLen, cmp.Or(e.maxLen, DefaultMaxLen))
	fresh := a.follows(&e)
	if e.At.Before(a.since) {
		return
	}
	a.report.Entries++
	if a.report.From.IsZero() || e.At.Before(a.report.From) {
		a.report.From = e.At
	}
	if e.At.After(a.report.To) {
		a.report.To = e.At
	}
	if !fresh {
		return
	}
	if e.Event != Granted && !e.Event.ends() || !a.covers(e.Name) {
		return
	}
	if e.Event == Released && e.Cause == holdfast.Exported { // that lease ended with its export
		return
	}
	if e.Kind != holdfast.KindMutex {
		if e.Event == Granted {
			a.report.Shared++
		}
		return
	}
	h := a.names[e.Name]
	if h == nil {
		h = &history{open: map[leaseKey]*lease{}}
		a.names[e.Name] = h
	}
	h.take(&e)
}

func (a *auditor) covers(name string) bool {
	return len(a.prefixes) == 0 || slices.ContainsFunc(a.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// follows finds a hole before an entry. It is false for one that was taken.
func (a *auditor) follows(e *Entry) bool {
	if e.Writer == "" {
		return true
	}
	last := a.writers[e.Writer]
	if last != nil && e.Seq <= last.Seq {
		return false
	}
	switch {
	case last != nil:
		a.backs.compare(last, e)
		a.hole(e, last.At, e.Seq-last.Seq-1)
	case e.Event == Dropped: // what came before it is in no journal
		a.hole(e, e.At.Add(-e.Held), e.N)
		if e.Seq > e.N {
			a.headless = append(a.headless, e)
		}
	case e.Seq > 0:
		a.headless = append(a.headless, e)
	}
	a.writers[e.Writer] = e
	return true
}

// hole notes that a number of entries is missing before e.
func (a *auditor) hole(e *Entry, after time.Time, missing int64) {
	if missing <= 0 || e.At.Before(a.since) {
		return
	}
	a.report.Missing = min(a.report.Missing+missing, maxCount)
	if len(a.report.Holes) < maxFindings {
		a.report.Holes = append(a.report.Holes, Hole{e.Owner, missing, after, e.At, e.Event == Dropped && e.N >= missing})
	}
}

// begins notes what is missing before the first entries of Writers, unless Writers have removed it.
func (a *auditor) begins() {
	if a.read+a.report.Unreadable >= a.maxLen {
		a.headless = nil
	}
	a.headless = slices.DeleteFunc(a.headless, func(e *Entry) bool { return e.At.Before(a.since) })
	for _, e := range a.headless {
		missing := e.Seq
		if e.Event == Dropped {
			missing -= e.N
		}
		a.hole(e, e.At.Add(-max(0, e.Local)), missing)
	}
	slices.SortStableFunc(a.report.Holes, func(x, y Hole) int { return x.After.Compare(y.After) })
}

func (h *history) take(e *Entry) {
	key := leaseKey{e.Writer, e.Token}
	l := h.open[key]
	switch {
	case e.Event == Granted:
		l = &lease{grant: e, begin: spanOf(e)}
		h.leases = append(h.leases, l)
		h.open[key] = l
	case l == nil: // its grant is not in the journal; but how long it was held
		l = &lease{end: e, over: spanOf(e), begin: spanOf(e).earlier(e.Held)}
		l.begin.known = e.Held > 0
		h.leases = append(h.leases, l)
	case l.end == nil:
		l.end, l.over = e, spanOf(e)
	}
}

func (l *lease) entry() *Entry {
	if l.grant != nil {
		return l.grant
	}
	return l.end
}

// check goes through the leases of a name by their tokens.
func (a *auditor) check(name string, h *history) {
	a.report.Names++
	a.report.Leases += len(h.leases)
	slices.SortStableFunc(h.leases, func(x, y *lease) int { return cmp.Compare(x.entry().Token, y.entry().Token) })
	past := passed{backs: a.backs}
	for i, l := range h.leases {
		if i > 0 && h.leases[i-1].entry().Token == l.entry().Token {
			a.refute(Finding{Rule: TokenTwice, Name: name, First: *h.leases[i-1].entry(), Then: *l.entry()})
		}
		if l.begin.known {
			if before, by := past.begunAfter(l); before != nil {
				a.refute(Finding{Rule: TokenFell, Name: name, First: *before.entry(), Then: *l.entry(), By: by})
			} else if before, by := past.overAfter(l); before != nil {
				a.refute(Finding{Rule: Overlap, Name: name, First: *before.entry(), End: before.end, Then: *l.entry(), By: by})
			}
			a.report.Uncertainty = max(a.report.Uncertainty, past.possibleOverlap(l))
		}
		if l.end == nil && i+1 < len(h.leases) {
			a.miss(l, h.leases[i+1])
		}
		past.add(l)
	}
}

func (a *auditor) refute(f Finding) {
	a.found++
	if len(a.report.Findings) < maxFindings {
		a.report.Findings = append(a.report.Findings, f)
	}
}

func (a *auditor) miss(l, next *lease) {
	a.unended++
	if len(a.report.Unended) < maxFindings {
		a.report.Unended = append(a.report.Unended, Unended{*l.entry(), *next.entry(), next.entry().At.Sub(l.entry().At)})
	}
}

// conclude comes to a verdict.
func (a *auditor) conclude() {
	r := &a.report
	because := func(format string, args ...any) { r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...)) }
	if r.Leases == 0 {
		because("the journal has no lease of a mutex to check")
	}
	if len(a.headless) > 0 {
		first, others := a.headless[0], ""
		if n := len(a.headless) - 1; n > 0 {
			others = fmt.Sprintf(" (likewise for %d other writers)", n)
		}
		last := slices.MaxFunc(a.headless, func(x, y *Entry) int { return x.At.Compare(y.At) })
		because("the journal begins at entry %d of %s: %d entries before it are missing%s, so nothing before %s is proved", first.Seq, first.Owner, first.Seq, others, clockTime(last.At))
	}
	if r.Unreadable > 0 {
		because("entries of the journal cannot be read: %d", r.Unreadable)
	}
	if r.Missing > 0 {
		last := r.Holes[len(r.Holes)-1]
		because("%d entries are missing between %s and %s: their writers could not send them to Redis, or Redis lost them", r.Missing, clockTime(r.Holes[0].After), clockTime(last.Before))
	}
	if a.unended > 0 {
		u := r.Unended[0]
		because("%d leases have no end in the journal, for example because a process was killed; the first is token %d of %s by %s, granted at %s; %v later the name was granted to %s", a.unended, u.Lease.Token, u.Lease.Name, u.Lease.Owner, clockTime(u.Lease.At), u.Gap.Round(time.Microsecond), u.Next.Owner)
	}
	if r.Uncertainty > MaxUncertainty {
		because("the times are not exact enough: two leases may have overlapped for up to %v", r.Uncertainty.Round(time.Microsecond))
		if b := a.backs.longest(); b != nil {
			because("the server's clock went back by up to %v between %s and %s, for example in a failover: entries around that time can't be compared", b.by.Round(time.Millisecond), clockTime(b.before), clockTime(b.after))
		}
	}
	switch {
	case a.found > 0:
		r.Verdict = Refuted
	case len(r.Reasons) > 0:
		r.Verdict = Unproven
	default:
		r.Verdict = Proved
	}
}
