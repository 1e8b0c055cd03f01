//go:build unix

package journal_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// stage is a real server, and a store to look at it.
type stage struct {
	*redistest.Server
	store driver.Store
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := redistest.Start(t, redistest.Options{})
	store, err := rueidisstore.Open(s.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &stage{s, store}
}

func (s *stage) child(t *testing.T, owner string, ttl time.Duration) *child {
	t.Helper()
	return startChild(t, setting{s.URL(), owner, ttl})
}

// granted waits until the journal has a grant of an owner.
func (s *stage) granted(t *testing.T, owner string) {
	t.Helper()
	until(t, "a grant of "+owner+" is written", func() bool {
		for _, e := range read(t, s.store, journal.Query{Name: "n"}) {
			if e.Event == journal.Granted && e.Owner == owner {
				return true
			}
		}
		return false
	})
}

func (s *stage) audit(t *testing.T) *journal.Report {
	t.Helper()
	r, err := journal.Audit(journal.Read(t.Context(), s.store, journal.Query{}), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantAlone fails where two overlapped. That times are inexact is a busy machine's.
func wantAlone(t *testing.T, r *journal.Report) {
	t.Helper()
	if r.Verdict == journal.Proved {
		return
	}
	if r.Verdict == journal.Refuted || r.Uncertainty <= journal.MaxUncertainty || len(r.Reasons) > 1 {
		t.Errorf("got %s, want proved: %v %v", r.Verdict, r.Findings, r.Reasons)
	}
}

// Four processes, two goroutines each, take turns at three names. All of their leases
// are in the journal, and it proves that they were alone.
func TestJournalOfProcesses(t *testing.T) {
	s := newStage(t)
	const turns = 25
	names := []string{"x", "y", "z"}
	var children []*child
	for i := range 4 {
		children = append(children, s.child(t, fmt.Sprintf("p%d", i), time.Minute))
	}
	for _, c := range children {
		c.say(fmt.Sprintf("tour %d x y z", turns))
	}
	for _, c := range children {
		c.expect("tour <nil>")
		c.do("end")
	}
	r := s.audit(t)
	wantAlone(t, r)
	if want := 4 * 2 * turns * len(names); r.Leases != want || r.Names != len(names) {
		t.Errorf("got %d leases of %d names, want %d of %d", r.Leases, r.Names, want, len(names))
	}
}

// A holder is frozen until its lease is over and the next has the name. When it wakes
// up it writes that its lease ended at its deadline, which was before.
func TestJournalOfAFrozenHolder(t *testing.T) {
	s := newStage(t)
	a, b := s.child(t, "A", 2*time.Second), s.child(t, "B", time.Minute)
	a.do("lock n")
	s.granted(t, "A")
	a.signal(syscall.SIGSTOP)
	b.do("lock n")
	a.signal(syscall.SIGCONT)
	var lost journal.Entry
	until(t, "A writes that it lost the name", func() bool {
		for _, e := range read(t, s.store, journal.Query{Name: "n"}) {
			if e.Event == journal.Lost {
				lost = e
			}
		}
		return lost.ID != ""
	})
	if lost.Owner != "A" || lost.Cause != holdfast.Expired || lost.Held > 2*time.Second {
		t.Errorf("got %+v, want A's lease, held for less than its ttl", lost)
	}
	b.do("end")
	wantAlone(t, s.audit(t))
}

// A holder is killed. Whether it was alone to its end nobody can say, and that is said.
func TestJournalOfAKilledHolder(t *testing.T) {
	s := newStage(t)
	a, b := s.child(t, "A", 2*time.Second), s.child(t, "B", time.Minute)
	a.do("lock n")
	s.granted(t, "A")
	a.signal(syscall.SIGKILL)
	b.do("lock n")
	s.granted(t, "B")
	r := s.audit(t)
	if r.Verdict != journal.Unproven || len(r.Unended) != 1 || r.Unended[0].Lease.Owner != "A" || r.Unended[0].Next.Owner != "B" {
		t.Errorf("got %s, %v, %+v, want that the end of A's lease is not known", r.Verdict, r.Reasons, r.Unended)
	}
}

// Somebody deletes the key of a holder, which believes in it until its next renewal:
// two hold the name meanwhile, and the journal refutes with the two.
func TestJournalOfAnOverlap(t *testing.T) {
	s := newStage(t)
	a, b := s.child(t, "A", 6*time.Second), s.child(t, "B", time.Minute)
	a.do("lock n")
	s.MustDo(t, "DEL", "holdfast:n")
	b.do("lock n")
	s.granted(t, "B")
	until(t, "A knows that it lost the name", func() bool {
		for _, e := range read(t, s.store, journal.Query{Name: "n"}) {
			if e.Event == journal.Lost && e.Owner == "A" {
				return true
			}
		}
		return false
	})
	r := s.audit(t)
	if r.Verdict != journal.Refuted || len(r.Findings) != 1 {
		t.Fatalf("got %s, %v, want refuted", r.Verdict, r.Findings)
	}
	f := r.Findings[0]
	if f.Rule != journal.Overlap || f.First.Owner != "A" || f.Then.Owner != "B" || f.End.Cause != holdfast.Taken || f.By <= 0 {
		t.Errorf("got %s, want that A held n, until it was found to be taken, while B did", f)
	}
}

// On a real server, too: the stream is capped, and what is full refuses no lock.
func TestJournalOnAServerThatIsFull(t *testing.T) {
	s := newStage(t)
	w := newWriter(t, s.store, journal.Options{Every: time.Millisecond, MaxLen: 1000, Buffer: 50})
	client := holdfast.New(s.store, &holdfast.Options{OnEvent: w.OnEvent, Logger: quiet})
	defer client.Close()
	lease := take(t, client, "n")
	for i := range 2400 {
		w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
		if i%40 == 39 {
			flush(t, w)
		}
	}
	if got := len(read(t, s.store, journal.Query{})); got > 1400 {
		t.Errorf("got %d entries, want about 1000", got)
	}
	s.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	for range 100 {
		w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	}
	until(t, "entries are dropped", func() bool { return w.Dropped() >= 40 })
	if err := lease.Release(); err != nil {
		t.Errorf("release: %v", err)
	}
	s.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
	flush(t, w)
	r := s.audit(t)
	if r.Verdict != journal.Unproven || r.Missing == 0 {
		t.Errorf("got %+v, want that entries are missing", r)
	}
}

// A real server remembers and forgets jobs as the embedded store does.
func TestJobsOnAServer(t *testing.T) {
	s := newStage(t)
	w := newWriter(t, s.store, journal.Options{Every: time.Millisecond})
	for i := range 1105 {
		w.Note(journal.Entry{Event: journal.Started, Name: fmt.Sprintf("j%d", i), At: time.Now().Add(time.Duration(i)*time.Millisecond - time.Hour)})
	}
	w.Note(journal.Entry{Event: journal.Ended, Name: "j1104", Code: 3, Held: time.Minute})
	flush(t, w)
	jobs, _, err := journal.Jobs(t.Context(), s.store, "")
	if err != nil || len(jobs) != 1000 {
		t.Fatalf("got %d, %v, want 1000", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Name == "j4" || j.Name == "j104" || j.Unended() != (j.Name != "j1104") || !j.Unended() && (j.Code != 3 || j.Took != time.Minute) {
			t.Errorf("got %+v", j)
		}
	}
}
