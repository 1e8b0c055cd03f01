package journal_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// server is a store in simulated time: a network that delays, and a clock of its own.
type server struct {
	driver.Store // nil: what a Writer does not need

	mu      sync.Mutex
	ahead   time.Duration // of its clock
	rate    float64       // by how much that runs faster
	born    time.Time
	delay   func() (there, back time.Duration)
	hangs   bool
	each    time.Duration // for an entry
	says    error
	calls   int
	entries [][]string
}

func (s *server) now() time.Time {
	passed := time.Since(s.born)
	return s.born.Add(s.ahead + passed + time.Duration(s.rate*float64(passed)))
}

func (s *server) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.mu.Lock()
	s.calls++
	hangs, says := s.hangs, s.says
	there, back := s.delay()
	if call.Script.Name == "journal_write" {
		there += s.each * time.Duration(len(call.Args[2:])/10)
	}
	s.mu.Unlock()
	if hangs {
		time.Sleep(time.Hour) // whatever ctx says
		return nil, errors.New("connection reset")
	}
	time.Sleep(there)
	s.mu.Lock()
	defer s.mu.Unlock()
	if says != nil {
		return nil, says
	}
	if call.Script.Name == "journal_write" {
		for rest := call.Args[2:]; len(rest) > 0; rest = rest[10:] {
			s.entries = append(s.entries, rest[:10])
		}
	}
	at := s.now()
	s.mu.Unlock()
	time.Sleep(back)
	s.mu.Lock()
	return []string{"written", strconv.FormatInt(at.UnixMicro(), 10)}, ctx.Err()
}

func newServer() *server {
	return &server{born: time.Now(), delay: func() (time.Duration, time.Duration) { return time.Millisecond, time.Millisecond }}
}

func quietly(o journal.Options) *journal.Options {
	o.Logger = slog.New(slog.DiscardHandler)
	return &o
}

// However the network delays, whatever the server's clock says and however fast it
// runs, an entry's time is right to within what it says; but for up to a second after
// that clock was set.
func TestTimesAreTheServers(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 1))
			s := newServer()
			s.ahead, s.rate = time.Duration(chance.IntN(7200)-3600)*time.Second, (chance.Float64()-0.5)/1500
			network := rand.New(rand.NewPCG(seed, 2)) // protected by the server's mutex
			s.delay = func() (time.Duration, time.Duration) {
				return time.Duration(network.ExpFloat64() * 3e6), time.Duration(network.ExpFloat64() * 3e6)
			}
			w := journal.NewWriter(s, quietly(journal.Options{Every: time.Millisecond}))
			var truth []time.Time
			for i := range 200 {
				s.mu.Lock()
				if i == 100 { // set forward
					s.ahead += time.Minute
				}
				truth = append(truth, s.now())
				s.mu.Unlock()
				w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
				if i == 99 { // what was noted before is written before
					if err := w.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Duration(chance.ExpFloat64() * 3e8))
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			wide := 0
			for i, e := range s.entries {
				at, within := number(t, e[3]), number(t, e[4])
				if i >= 100 && truth[i].Sub(truth[100]) < 2*time.Second { // the clock was set since the last exchange
					continue
				}
				if off := max(at-truth[i].UnixMicro(), truth[i].UnixMicro()-at); off > within+1 {
					t.Errorf("seed %d, entry %d: off by %d us, want at most %d", seed, i, off, within)
				}
				if within > 20_000 {
					wide++
				}
			}
			if len(s.entries) != 200 || wide > 10 {
				t.Errorf("seed %d: got %d entries, %d of them less exact than 20 ms", seed, len(s.entries), wide)
			}
		})
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Calls do not pile up behind a server that never answers.
func TestCallsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.hangs = true
		w := journal.NewWriter(s, quietly(journal.Options{}))
		w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
		time.Sleep(time.Minute)
		s.mu.Lock()
		calls := s.calls
		s.mu.Unlock()
		if calls != 1 {
			t.Errorf("calls in a minute: got %d, want 1", calls)
		}
		began := time.Now()
		if err := w.Close(); err == nil {
			t.Error("Close says that all was written")
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("Close took %v", took)
		}
		time.Sleep(2 * time.Hour) // the call comes back
	})
}

// What Close does not have to wait for it does not: a refusal for good stays one.
func TestCloseAfterARefusal(t *testing.T) {
	for said, most := range map[string]time.Duration{
		"NOPERM User app has no permissions to run the 'xadd' command": 100 * time.Millisecond,
		"OOM command not allowed when used memory > 'maxmemory'.":      time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.says = driver.ServerError(said)
			w := journal.NewWriter(s, quietly(journal.Options{}))
			w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
			began := time.Now()
			if err := w.Close(); err == nil || !strings.Contains(err.Error(), "1 entries") {
				t.Errorf("got %v, want that one was not written", err)
			}
			if took := time.Since(began); took > most {
				t.Errorf("%s: Close took %v, want at most %v", said, took, most)
			}
			time.Sleep(time.Minute) // what is on its way comes back
		})
	}
}

// slowly is a Logger that takes its time.
type slowly struct {
	slog.Handler
	takes  time.Duration
	logged chan string
}

func (s slowly) Enabled(context.Context, slog.Level) bool { return true }

func (s slowly) Handle(_ context.Context, r slog.Record) error {
	time.Sleep(s.takes)
	s.logged <- r.Level.String() + " " + r.Message
	return nil
}

// What went wrong has been told when Close returns, since the process may end then; but it
// does not wait for a Logger that hangs.
func TestCloseWaitsForTheLogger(t *testing.T) {
	for _, takes := range []time.Duration{500 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.says = driver.ServerError("NOPERM User app has no permissions to run the 'xadd' command")
			told := make(chan string, 10)
			w := journal.NewWriter(s, &journal.Options{Logger: slog.New(slowly{slog.DiscardHandler, takes, told})})
			w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
			began := time.Now()
			_ = w.Close()
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("Close took %v", took)
			}
			if takes == time.Hour {
				time.Sleep(2 * time.Hour)
			}
			select {
			case got := <-told:
				if !strings.HasPrefix(got, "WARN holdfast: the journal can't be written") || len(told) > 0 {
					t.Errorf("told %q and %d more, want one warning", got, len(told))
				}
			default:
				t.Error("it was not told")
			}
		})
	}
}

// A slow server is asked less often: what takes 100 ms is followed by 2 s of rest.
func TestWriterSparesASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.delay = func() (time.Duration, time.Duration) { return 50 * time.Millisecond, 50 * time.Millisecond }
		w := journal.NewWriter(s, quietly(journal.Options{Batch: 1}))
		for range 1000 {
			w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		calls := s.calls
		s.mu.Unlock()
		if calls > 70 {
			t.Errorf("calls in a minute: got %d, want about one in two seconds, and one for the time beside each", calls)
		}
		_ = w.Close()
		time.Sleep(time.Minute)
	})
}

// What a server can't write in the time of a call is sent in smaller parts, and is
// written at last.
func TestWriterSendsLessToASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.each = 50 * time.Millisecond // a batch of 200 takes 10 s
		w := journal.NewWriter(s, quietly(journal.Options{Every: time.Millisecond}))
		for range 400 {
			w.Note(journal.Entry{Event: journal.Granted, Name: "n"})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Flush(ctx); err != nil {
			t.Errorf("Flush = %v; want all written within a minute, without rests of 20 s", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // what is on its way comes back
	})
}
