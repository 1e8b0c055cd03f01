package journal

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Verdict is what an Audit came to.
type Verdict string

// The verdicts.
const (
	Proved   Verdict = "proved"   // no two leases of a name overlapped, and tokens always rose
	Refuted  Verdict = "refuted"  // they did, or did not: Report.Findings has the events
	Unproven Verdict = "unproven" // nothing was found, and something can't be known: Report.Why
)

// MaxUncertainty is the longest overlap that clocks may have hidden in what is proved: as
// short as the shortest ttl.
const MaxUncertainty = holdfast.MinTTL

// maxFindings bounds each list of a Report; what is beyond is counted.
const maxFindings = 20

// Report is what an Audit found.
type Report struct {
	Verdict Verdict
	Why     []string // of Unproven: each reason in a sentence

	Entries  int // read
	Names    int // of which leases were judged
	Leases   int // that were judged
	Shared   int // leases of semaphores and RWMutexes: these may overlap and are not judged
	From, To time.Time

	// Uncertainty is the longest that two leases may have overlapped within what the
	// clocks were sure of: 0 if each ended surely before the next began.
	Uncertainty time.Duration

	Findings []Finding // what refutes; at most 20
	Holes    []Hole    // entries that are missing; at most 20
	Missing  int64     // in all of them
	Unended  []Unended // leases whose end is not in the journal, though the name was granted again; at most 20
}

// Finding is what refutes: two events, or three.
type Finding struct {
	Rule  Rule
	Name  string
	First Entry  // the lease with the lower token: its grant, or if that is not in the journal its end
	End   *Entry // Overlap: how the first ended
	Then  Entry  // the lease with the higher token: its grant
	By    time.Duration
}

// Rule is what a Finding is about.
type Rule string

// The rules.
const (
	Overlap    Rule = "overlap"     // Then was granted before First had ended, by that much at least
	TokenFell  Rule = "token fell"  // Then was granted before First, by that much at least, with a higher token
	TokenTwice Rule = "token twice" // both have one token
)

// String says it in a sentence.
func (f Finding) String() string {
	switch f.Rule {
	case TokenTwice:
		return fmt.Sprintf("%s: token %d was granted twice: to %s at %s and to %s at %s", f.Name, f.Then.Token, f.First.Owner, clockTime(f.First.At), f.Then.Owner, clockTime(f.Then.At))
	case TokenFell:
		return fmt.Sprintf("%s: tokens fell: %s got %d at %s, and %s after that the lower %d, at %s", f.Name, f.Then.Owner, f.Then.Token, clockTime(f.Then.At), f.First.Owner, f.First.Token, clockTime(f.First.At))
	}
	how := string(f.End.What)
	if f.End.Cause != "" && f.End.What == Lost {
		how += ", " + string(f.End.Cause)
	}
	return fmt.Sprintf("%s: two leases overlapped by %v: %s held token %d until %s (%s), and %s was granted token %d at %s", f.Name, f.By, f.First.Owner, f.First.Token, clockTime(f.End.At), how, f.Then.Owner, f.Then.Token, clockTime(f.Then.At))
}

func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Hole is where entries of one Writer are missing.
type Hole struct {
	Owner         string
	N             int64
	After, Before time.Time
	Reported      bool // the Writer said so: it had dropped them
}

// Unended is a lease of which the journal does not know how it ended: its process was
// killed, or can't reach Redis.
type Unended struct {
	Lease Entry
	Next  Entry         // the next grant of the name
	Gap   time.Duration // from the one grant to the other
}

// Audit judges the leases of an unfiltered Read, oldest entries first: of all
// names, or of those that begin with one of the prefixes. It proves that no two
// leases of a name overlapped and that each had a higher token than all before, or
// refutes that with the events, or says why neither can be said: entries are
// missing, the end of a lease is, or the times are too inexact. What came before the first
// entry is not judged, and what a process that was killed had not written yet nobody knows.
// That the server's clock was set back, or a server took over whose clock is behind, is
// seen where a Writer wrote before and after it; around that only what it can't explain refutes.
//
// A lease is judged by what its own process believed: one that was stolen, or whose
// key was deleted, was believed in until that was noticed, and overlaps with the next if that
// was before. One that was exported ended then: what is done by the text of Lease.Export
// until somebody adopts it is in no journal. Entries that are not ours are passed over; another error of the
// sequence ends it. It keeps some 500 bytes for each lease in memory.
func Audit(entries iter.Seq2[Entry, error], prefixes ...string) (*Report, error) {
	a := auditor{prefixes: prefixes, names: map[string]*history{}, writers: map[string]*Entry{}}
	for e, err := range entries {
		switch {
		case errors.Is(err, ErrEntry):
		case err != nil:
			return nil, err
		default:
			a.take(e)
		}
	}
	for _, name := range sortedKeys(a.names) {
		a.judge(name, a.names[name])
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
	prefixes []string
	names    map[string]*history
	writers  map[string]*Entry // the newest entry of each
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

// leaseKey tells the leases of one name apart. A token of two Writers is two leases:
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
	known       bool
	writer      string
	local       time.Duration
	least, most time.Time
}

func spanOf(e *Entry) span {
	return span{true, e.Writer, e.Local, e.At.Add(-e.Within), e.At.Add(e.Within)}
}

// earlier is the same a time before.
func (s span) earlier(d time.Duration) span {
	s.local -= d
	s.least, s.most = s.least.Add(-d-drift(d)), s.most.Add(-d+drift(d))
	return s
}

// surelyAfter is by how much s was after t whatever the clocks' errors; 0 or less: not surely.
func (s span) surelyAfter(t span) time.Duration {
	if s.writer != "" && s.writer == t.writer {
		return s.local - t.local
	}
	return s.least.Sub(t.most)
}

func (a *auditor) take(e Entry) {
	a.report.Entries++
	if a.report.From.IsZero() || e.At.Before(a.report.From) {
		a.report.From = e.At
	}
	if e.At.After(a.report.To) {
		a.report.To = e.At
	}
	if !a.follows(&e) {
		return
	}
	if e.What != Granted && !e.What.ends() || !a.judges(e.Name) {
		return
	}
	if e.What == Released && e.Cause == holdfast.Exported { // of nobody's belief: see givenBack of the command line
		return
	}
	if e.Kind != holdfast.KindMutex {
		if e.What == Granted {
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

func (a *auditor) judges(name string) bool {
	return len(a.prefixes) == 0 || slices.ContainsFunc(a.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// follows looks for a hole before an entry. It is false for one that was taken.
func (a *auditor) follows(e *Entry) bool {
	if e.Writer == "" {
		return true
	}
	last := a.writers[e.Writer]
	if last != nil && e.Seq <= last.Seq {
		return false
	}
	from, missing := e.At, int64(0)
	switch {
	case last != nil:
		from, missing = last.At, e.Seq-last.Seq-1
	case e.What == Dropped: // what came before it is in no journal
		from, missing = e.At.Add(-e.Held), e.N
	}
	if last != nil {
		a.backs.look(last, e)
	}
	if missing > 0 {
		a.report.Missing += missing
		if len(a.report.Holes) < maxFindings {
			a.report.Holes = append(a.report.Holes, Hole{e.Owner, missing, from, e.At, e.What == Dropped && e.N >= missing})
		}
	}
	a.writers[e.Writer] = e
	return true
}

func (h *history) take(e *Entry) {
	key := leaseKey{e.Writer, e.Token}
	l := h.open[key]
	switch {
	case e.What == Granted:
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

// judge goes through the leases of a name by their tokens.
func (a *auditor) judge(name string, h *history) {
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
			a.report.Uncertainty = max(a.report.Uncertainty, past.doubt(l))
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
	because := func(format string, args ...any) { r.Why = append(r.Why, fmt.Sprintf(format, args...)) }
	if r.Leases == 0 {
		because("the journal has no lease of a mutex that could be judged")
	}
	if r.Missing > 0 {
		last := r.Holes[len(r.Holes)-1]
		because("%d entries are missing between %s and %s: their writers could not bring them to Redis, or it lost them", r.Missing, clockTime(r.Holes[0].After), clockTime(last.Before))
	}
	if a.unended > 0 {
		u := r.Unended[0]
		because("the end of %d leases is not known, as where a process was killed; the first is token %d of %s by %s, granted at %s, and %v later the name was granted to %s", a.unended, u.Lease.Token, u.Lease.Name, u.Lease.Owner, clockTime(u.Lease.At), u.Gap.Round(time.Microsecond), u.Next.Owner)
	}
	if r.Uncertainty > MaxUncertainty {
		because("the times are not exact enough: two leases may have overlapped for up to %v", r.Uncertainty.Round(time.Microsecond))
		if b := a.backs.longest(); b != nil {
			because("the server's clock went back by up to %v between %s and %s, as where another server took over: what was written around that can't be compared", b.by.Round(time.Millisecond), clockTime(b.before), clockTime(b.after))
		}
	}
	switch {
	case a.found > 0:
		r.Verdict = Refuted
	case len(r.Why) > 0:
		r.Verdict = Unproven
	default:
		r.Verdict = Proved
	}
}
