package journal_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
)

// book is a journal made by hand. Times are in milliseconds by the server's clock,
// which all writers' own clocks agree with, and are right to within a tenth of one.
type book struct {
	entries []journal.Entry
	seqs    map[string]int64
	within  time.Duration
	back    time.Duration // by how much the server's clock was set back since
}

func newBook() *book { return &book{seqs: map[string]int64{}, within: 100 * time.Microsecond} }

var dawn = time.UnixMilli(1_800_000_000_000)

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func (b *book) add(writer string, at float64, e journal.Entry) *book {
	e.Writer, e.Owner, e.Seq, e.Local = writer, "host-"+writer, b.seqs[writer], ms(at)
	e.At, e.Uncertainty = dawn.Add(ms(at)-b.back), b.within
	if e.Name == "" && e.Event != journal.Dropped {
		e.Name = "n"
	}
	if e.Kind == "" {
		e.Kind = holdfast.KindMutex
	}
	b.seqs[writer]++
	b.entries = append(b.entries, e)
	return b
}

// lease is a grant and its release.
func (b *book) lease(writer string, token int64, from, to float64) *book {
	b.add(writer, from, journal.Entry{Event: journal.Granted, Token: token})
	return b.add(writer, to, journal.Entry{Event: journal.Released, Token: token, Held: ms(to - from)})
}

func (b *book) read() iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for _, e := range b.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func audited(t *testing.T, b *book, prefixes ...string) *journal.Report {
	t.Helper()
	report, err := journal.Audit(b.read(), time.Time{}, prefixes...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func wantVerdict(t *testing.T, r *journal.Report, want journal.Verdict, words ...string) {
	t.Helper()
	if r.Verdict != want {
		t.Fatalf("got %s, want %s; findings %v, why %q", r.Verdict, want, r.Findings, r.Reasons)
	}
	text := strings.Join(r.Reasons, "\n")
	for _, f := range r.Findings {
		text += "\n" + f.String()
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("got %q, want %q in it", text, word)
		}
	}
}

// Leases one after the other, in one process and in several, are proved.
func TestAuditProves(t *testing.T) {
	b := newBook().lease("a", 1, 0, 10).lease("a", 2, 10, 20).lease("b", 64, 21, 30).lease("a", 128, 31, 40)
	b.add("b", 41, journal.Entry{Event: journal.Granted, Token: 200}) // held still
	r := audited(t, b)
	wantVerdict(t, r, journal.Proved)
	if r.Leases != 5 || r.Names != 1 || r.Entries != 9 || r.Uncertainty != 0 || !r.From.Equal(dawn) || !r.To.Equal(dawn.Add(ms(41))) {
		t.Errorf("got %+v, want 5 leases of one name in 9 entries of 41 ms, and no doubt", r)
	}
}

// Two processes that held a name at a time refute, with the two and how the first ended.
func TestAuditRefutesOverlap(t *testing.T) {
	r := audited(t, newBook().lease("a", 1, 0, 15).lease("b", 64, 10, 30))
	wantVerdict(t, r, journal.Refuted, "n: two leases overlapped by 4.8ms: host-a held token 1 until", "(released)", "host-b was granted token 64")
	f := r.Findings[0]
	if f.Rule != journal.Overlap || f.First.Token != 1 || f.Then.Token != 64 || f.End.Event != journal.Released {
		t.Errorf("got %+v", f)
	}
}

// The order in the stream is not that of the events: a process may have been late
// to write.
func TestAuditReadsLateEntries(t *testing.T) {
	wantVerdict(t, audited(t, newBook().lease("b", 64, 20, 30).lease("a", 1, 0, 10)), journal.Proved)
	wantVerdict(t, audited(t, newBook().lease("b", 64, 20, 30).lease("a", 1, 0, 25)), journal.Refuted, "overlapped")
}

// A lease within a longer one is found, though others came in between.
func TestAuditRefutesAcrossOthers(t *testing.T) {
	b := newBook().lease("a", 1, 0, 100).lease("b", 2, 30, 40).lease("c", 3, 50, 60)
	r := audited(t, b)
	wantVerdict(t, r, journal.Refuted)
	if len(r.Findings) != 2 || r.Findings[1].First.Token != 1 || r.Findings[1].Then.Token != 3 {
		t.Errorf("got %v, want that the lease with token 1 overlapped with both", r.Findings)
	}
}

// Within one process its own clock tells, however little the server's is known.
func TestAuditOfOneProcessIsExact(t *testing.T) {
	b := newBook()
	b.within = time.Hour
	wantVerdict(t, audited(t, b.lease("a", 1, 0, 10).lease("a", 2, 10, 20)), journal.Proved)
	wantVerdict(t, audited(t, b.lease("a", 3, 19.5, 25)), journal.Refuted, "overlapped by 500µs")
}

// What the clocks can't tell is no overlap, and is said: a little of it is doubt, and
// too much leaves nothing proved.
func TestAuditHeedsClocks(t *testing.T) {
	b := newBook()
	b.within = ms(3)
	r := audited(t, b.lease("a", 1, 0, 11).lease("b", 2, 10, 20))
	wantVerdict(t, r, journal.Proved)
	if want := ms(7); r.Uncertainty != want {
		t.Errorf("doubt: got %v, want %v", r.Uncertainty, want)
	}
	b = newBook()
	b.within = 2 * time.Second
	wantVerdict(t, audited(t, b.lease("a", 1, 0, 11).lease("b", 2, 20, 30)), journal.Unproven, "may have overlapped for up to 3.991s")
}

// The server's clock goes back by two seconds, as where another server takes over. What
// that explains is no overlap, and no fallen token, and is said; what it does not
// explain, or is long after it, is one.
func TestAuditHeedsAClockThatWentBack(t *testing.T) {
	b := newBook().lease("a", 1, 0, 5000)
	b.back = 2 * time.Second
	b.lease("b", 64, 5100, 5200).lease("a", 128, 5300, 5400)
	wantVerdict(t, audited(t, b), journal.Unproven, "the server's clock went back by up to 2s between 2027-01-15T08:00:05.000000Z and 2027-01-15T08:00:03.300000Z")

	b = newBook().lease("a", 1, 4900, 5000)
	b.back = 2 * time.Second
	b.lease("b", 64, 5100, 5200).lease("a", 128, 5300, 5400)
	wantVerdict(t, audited(t, b), journal.Unproven, "went back by up to 2s")

	b = newBook().add("a", 0, journal.Entry{Event: journal.Granted, Token: 1}).add("b", 4000, journal.Entry{Event: journal.Granted, Token: 64})
	b.back = 2 * time.Second // it hides that the first ended at 5000
	b.add("a", 5000, journal.Entry{Event: journal.Released, Token: 1, Held: ms(5000)})
	wantVerdict(t, audited(t, b), journal.Unproven, "may have overlapped for up to 1.0", "went back by up to 2.003s")

	b = newBook().lease("a", 1, 4900, 5000)
	b.back = 2 * time.Second
	b.lease("a", 200, 9000, 20000).lease("b", 300, 10000, 21000)
	wantVerdict(t, audited(t, b), journal.Refuted, "host-a held token 200")

	b = newBook().lease("a", 1, 0, 10)
	b.back = 2 * time.Second
	b.lease("a", 2, 100, 200).lease("a", 3, 60000, 60500).lease("b", 64, 60400, 60600)
	wantVerdict(t, audited(t, b), journal.Refuted, "host-a held token 3", "overlapped by 99.8ms")
}

// A lower token after a higher one refutes, and so does one token for two.
func TestAuditRefutesTokens(t *testing.T) {
	r := audited(t, newBook().lease("a", 64, 0, 10).lease("b", 1, 20, 30))
	wantVerdict(t, r, journal.Refuted, "n: tokens fell: host-a got 64", "host-b after that the lower 1")
	r = audited(t, newBook().lease("a", 64, 0, 10).lease("b", 64, 20, 30))
	wantVerdict(t, r, journal.Refuted, "token 64 was granted twice: to host-a", "to host-b")
	wantVerdict(t, audited(t, newBook().lease("a", 2, 0, 10).lease("a", 1, 10, 20)), journal.Refuted, "tokens fell")
}

// Names do not concern each other, and prefixes say which are checked.
func TestAuditOfNames(t *testing.T) {
	b := newBook()
	b.add("a", 0, journal.Entry{Event: journal.Granted, Name: "x:1", Token: 5})
	b.lease("b", 1, 1, 2)
	b.add("a", 3, journal.Entry{Event: journal.Released, Name: "x:1", Token: 5, Held: ms(3)})
	b.add("c", 2, journal.Entry{Event: journal.Granted, Name: "x:1", Token: 6})
	wantVerdict(t, audited(t, b, "n"), journal.Proved)
	r := audited(t, b, "x:")
	wantVerdict(t, r, journal.Refuted, "x:1: ")
	if r.Leases != 2 {
		t.Errorf("leases: got %d, want 2", r.Leases)
	}
	wantVerdict(t, audited(t, b, "none"), journal.Unproven, "no lease of a mutex")
}

// What entries are missing may have said, nobody knows. Told or not, the numbers of
// the entries show it.
func TestAuditSeesHoles(t *testing.T) {
	b := newBook().lease("a", 1, 0, 10)
	b.seqs["a"] += 7
	b.add("a", 15, journal.Entry{Event: journal.Dropped, N: 7, Held: ms(4)}).lease("b", 64, 20, 30)
	r := audited(t, b)
	wantVerdict(t, r, journal.Unproven, "7 entries are missing between 2027-01-15T08:00:00.010000Z and 2027-01-15T08:00:00.015000Z")
	if len(r.Holes) != 1 || !r.Holes[0].Reported || r.Holes[0].N != 7 || r.Missing != 7 {
		t.Errorf("got %+v, want one hole of 7 that was told", r.Holes)
	}
	b = newBook().lease("a", 1, 0, 10)
	b.seqs["a"] += 2
	r = audited(t, b.lease("a", 2, 20, 30))
	wantVerdict(t, r, journal.Unproven, "2 entries are missing")
	if r.Holes[0].Reported {
		t.Error("the hole was told of, by nobody")
	}
	b = newBook()
	b.seqs["a"] = 9
	b.add("a", 1, journal.Entry{Event: journal.Dropped, N: 9}).lease("a", 1, 2, 3)
	wantVerdict(t, audited(t, b), journal.Unproven, "9 entries are missing")
	b.lease("b", 64, 2.5, 4) // a refutation stands beside a hole
	wantVerdict(t, audited(t, b), journal.Refuted)
}

// full adds entries until the stream is as long as Writers keep it.
func (b *book) full() *book {
	for range journal.DefaultMaxLen {
		b.add("z", 100, journal.Entry{Event: journal.Skipped})
	}
	return b
}

// What was trimmed is no hole: the journal begins where it begins. A release still
// says how long the lease had been held.
func TestAuditOfATrimmedJournal(t *testing.T) {
	b := newBook().lease("a", 1, 0, 10).lease("b", 64, 20, 30).full()
	b.entries = b.entries[1:]
	r := audited(t, b)
	wantVerdict(t, r, journal.Proved)
	if r.Leases != 2 {
		t.Errorf("leases: got %d, want 2", r.Leases)
	}
	b = newBook().lease("a", 1, 0, 10).lease("b", 64, 5, 30).full()
	b.entries = append(b.entries[:2:2], b.entries[3:]...)
	wantVerdict(t, audited(t, b), journal.Refuted, "overlapped by 4.78")
}

// A journal that was never trimmed has the first entries of each Writer, or Redis lost them. The
// rest is proved from the time at which all Writers are known.
func TestAuditOfALostBeginning(t *testing.T) {
	b := newBook()
	b.seqs["a"], b.seqs["b"] = 754, 3
	b.lease("a", 1, 1000, 1010).lease("b", 64, 1020, 1030).lease("c", 128, 1040, 1050)
	r := audited(t, b)
	wantVerdict(t, r, journal.Unproven, "begins at entry 754 of host-a: 754 entries before it are missing (likewise for 1 other writers), so nothing before 2027-01-15T08:00:01.020000Z is proved")
	if len(r.Holes) != 2 || r.Missing != 757 || !r.Holes[0].After.Equal(dawn) || !r.Holes[0].Before.Equal(dawn.Add(time.Second)) {
		t.Errorf("got %d missing, %+v, want 757 since the Writers began", r.Missing, r.Holes)
	}
	later, err := journal.Audit(b.read(), dawn.Add(1040*time.Millisecond))
	if err != nil || later.Verdict != journal.Proved || later.Leases != 1 || later.Entries != 2 {
		t.Errorf("got %+v, %v, want that the rest is proved", later, err)
	}
	b = newBook()
	b.seqs["a"] = 20
	b.add("a", 10, journal.Entry{Event: journal.Dropped, N: 5, Held: ms(1)}).lease("a", 1, 20, 30)
	if r = audited(t, b); r.Verdict != journal.Unproven || r.Missing != 20 || len(r.Holes) != 2 {
		t.Errorf("got %s, %d missing, %+v, want 15 and 5", r.Verdict, r.Missing, r.Holes)
	}
}

// Entries from before the time that is asked for show what is missing at its beginning.
func TestAuditSince(t *testing.T) {
	b := newBook().lease("a", 1, 0, 10)
	b.seqs["a"] += 2
	b.lease("a", 2, 20, 30).lease("a", 3, 40, 50)
	for since, want := range map[float64]journal.Verdict{15: journal.Unproven, 35: journal.Proved} {
		if r, err := journal.Audit(b.read(), dawn.Add(ms(since))); err != nil || r.Verdict != want || !r.From.After(dawn.Add(ms(since))) {
			t.Errorf("since %v ms: got %+v, %v, want %s", since, r, err, want)
		}
	}
}

// The end of a lease that is not in the journal may have been at any time.
func TestAuditWithoutAnEnd(t *testing.T) {
	b := newBook()
	b.add("a", 0, journal.Entry{Event: journal.Granted, Token: 1})
	b.lease("b", 64, 15000, 15010)
	r := audited(t, b)
	wantVerdict(t, r, journal.Unproven, "1 leases have no end in the journal", "token 1 of n by host-a", "15s later the name was granted to host-b")
	if len(r.Unended) != 1 || r.Unended[0].Next.Token != 64 {
		t.Errorf("got %+v", r.Unended)
	}
}

// A lease that expired ended at its deadline, however late its process saw that;
// one that was stolen went on until then.
func TestAuditOfLosses(t *testing.T) {
	b := newBook()
	b.add("a", 0, journal.Entry{Event: journal.Granted, Token: 1})
	b.add("b", 15, journal.Entry{Event: journal.Granted, Token: 64})
	b.add("a", 14, journal.Entry{Event: journal.Lost, Token: 1, Held: ms(14), Cause: holdfast.Expired})
	wantVerdict(t, audited(t, b), journal.Proved)
	b.add("c", 20, journal.Entry{Event: journal.Granted, Token: 128})
	b.add("b", 25, journal.Entry{Event: journal.Stolen, Token: 64, Held: ms(10), Cause: holdfast.Stolen, Reason: "it hung"})
	wantVerdict(t, audited(t, b), journal.Refuted, "host-b held token 64 until 2027-01-15T08:00:00.025000Z (stolen)")
}

// A lease that was exported ended then, and goes on in another process with a token of
// its own; the turns of a tenure are leases like others, also where they and the next
// tenure come late and mixed.
func TestAuditOfAnExport(t *testing.T) {
	b := newBook().lease("a", 1, 0, 5).lease("a", 2, 5, 8)
	b.add("a", 8, journal.Entry{Event: journal.Granted, Token: 3})
	b.add("a", 12, journal.Entry{Event: journal.Exported, Token: 3, Held: ms(4)})
	b.add("c", 13, journal.Entry{Event: journal.Released, Token: 3, Cause: holdfast.Exported})
	b.lease("b", 64, 13, 30)
	wantVerdict(t, audited(t, b), journal.Proved)
	b.entries = append(b.entries[6:], b.entries[:6]...)
	wantVerdict(t, audited(t, b), journal.Proved)
	wantVerdict(t, audited(t, b.lease("c", 100, 25, 26)), journal.Refuted, "host-b held token 64", "host-c was granted token 100")
}

// Permits and readers may overlap: they are counted and not checked.
func TestAuditLeavesSharedKinds(t *testing.T) {
	b := newBook().lease("a", 1, 0, 1)
	for i, kind := range []holdfast.Kind{holdfast.KindSemaphore, holdfast.KindRWMutex} {
		for _, w := range []string{"b", "c"} {
			b.add(w, 5, journal.Entry{Event: journal.Granted, Name: "s", Kind: kind, Token: int64(i)})
			b.add(w, 9, journal.Entry{Event: journal.Released, Name: "s", Kind: kind, Token: int64(i), Held: ms(4)})
		}
	}
	r := audited(t, b)
	wantVerdict(t, r, journal.Proved)
	if r.Shared != 4 || r.Leases != 1 {
		t.Errorf("got %d shared and %d leases, want 4 and 1", r.Shared, r.Leases)
	}
}

// An entry that comes twice counts once.
func TestAuditTakesRepeatsOnce(t *testing.T) {
	b := newBook().lease("a", 1, 0, 10)
	b.entries = append(b.entries, b.entries...)
	if r := audited(t, b); r.Verdict != journal.Proved || r.Leases != 1 {
		t.Errorf("got %s of %d leases, want proved of 1", r.Verdict, r.Leases)
	}
}

// An empty journal proves nothing; what is no entry is passed over; an error is one.
func TestAuditEdges(t *testing.T) {
	wantVerdict(t, audited(t, newBook()), journal.Unproven, "no lease")
	fails := func(err error) iter.Seq2[journal.Entry, error] {
		return func(yield func(journal.Entry, error) bool) {
			if !yield(journal.Entry{}, err) {
				return
			}
			newBook().lease("a", 1, 0, 10).read()(yield)
		}
	}
	if r, err := journal.Audit(fails(journal.ErrEntry), time.Time{}); err != nil || r.Verdict != journal.Unproven || r.Unreadable != 1 || r.Leases != 1 {
		t.Errorf("got %v, %v, want the lease, and one that is unreadable", r, err)
	}
	if _, err := journal.Audit(fails(holdfast.ErrUnreachable), time.Time{}); !errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}
