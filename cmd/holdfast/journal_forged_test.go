//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

const (
	stream = "holdfast/journal:holdfast:"
	books  = "holdfast/jobs:holdfast:"
	hourly = "holdfast/sums:{holdfast/journal:holdfast:}"
)

// writes is a journal of a server, with what holdfast writes.
func (s *realServer) writes(t *testing.T) *journal.Writer {
	t.Helper()
	store, err := rueidisstore.Open(s.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := journal.NewWriter(store, &journal.Options{Owner: "honest", Every: time.Millisecond})
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func flushed(t *testing.T, w *journal.Writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// forge adds entries and jobs that no Writer writes: one of each breaks another bound.
func (s *realServer) forge(t *testing.T) (entries, jobs int) {
	t.Helper()
	now := fmt.Sprint(time.Now().UnixMicro())
	ours := []string{"writer", "w", "seq", "0", "local", "0", "at", now, "within", "0", "what", "granted", "name", "n", "owner", "o", "token", "1", "more", ""}
	for field, values := range map[string][]string{
		"at":     {"253402300800000000", "9223372036854775807", "-9223372036854775808", "0", "NaN"}, // the first is in the year 10000
		"seq":    {"-1", "9223372036854775807"},
		"local":  {"-9223372036854775808", "9223372036854775807"},
		"within": {"-1", "9223372036854775807"},
		"token":  {"-1", "1e5", "99999999999999999999"},
		"what":   {"", "conquered"},
		"name":   {"a\x1b[2J", "a\xff", strings.Repeat("n", 600)},
		"owner":  {"o\nforged line", strings.Repeat("o", 600)},
		"writer": {"", strings.Repeat("w", 600)},
		"more":   {"{", `{"held":9223372036854775807}`, `{"waited":-1}`, `{"reason":"\u0007"}`, `{"n":1e400}`, `{"code":9223372036854775807}`},
	} {
		for _, value := range values {
			entry := append([]string{"XADD", stream, "*"}, ours...)
			for i := 3; i < len(entry); i += 2 {
				if entry[i] == field {
					entry[i+1] = value
				}
			}
			s.do(t, entry...)
			entries++
		}
	}
	s.do(t, "XADD", stream, "18446744073709551000-1", "junk", "x")
	for i, record := range []string{
		"junk",
		"253402300800000000 0 0 253402300800000000 0 0 0 w 1 1 c 0 0 0 0 0 0 owner",
		"1 1 1 1 0 9223372036854775807 0 w 1 1 c 9223372036854775807 1 9223372036854775807 0 0 0 owner",
		"1 1 1 -9223372036854775808 0 0 0 w 1 1 c 0 0 0 0 0 0 owner",
		"1 1 1 1 0 0 0 w 1 1 c 0 0 0 0 0 0 o\x1b[2J",
		"1 1 1 1 0 0 0 w 1 1 c 0 0 0 0 0 0 " + strings.Repeat("o", 3000),
		"1 1 1 1 0 0 0 w 1 1 c 0 0 0 0 0 0 " + strings.Repeat("o", 5000),
	} {
		s.do(t, "HSET", books, fmt.Sprint("job", i), record)
		jobs++
	}
	s.do(t, "HSET", books, "na\x1bme", "1 1 1 1 0 0 0 w 1 1 c 0 0 0 0 0 0 owner")
	return entries + 1, jobs + 1
}

// A client that may write to the keys of the journal adds what no Writer writes. Each command and
// page shows the honest entries, and says how many it can't read.
func TestForgedJournal(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	w := server.writes(t)
	lease := func(token int64) {
		w.Note(journal.Entry{Event: journal.Granted, Name: "n", Kind: holdfast.KindMutex, Token: token})
		w.Note(journal.Entry{Event: journal.Released, Name: "n", Kind: holdfast.KindMutex, Token: token})
	}
	lease(7)
	w.Note(journal.Entry{Event: journal.Started, Name: "nightly", Token: 3})
	w.Note(journal.Entry{Event: journal.Ended, Name: "nightly", Token: 3, Held: time.Second})
	flushed(t, w)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	var shown, said lockedBuffer
	ended := make(chan int, 1)
	go func() {
		ended <- runInProcess(watching, &shown, &said, "watch", "--redis", server.url(), "-o", "json")
	}()
	until(t, "it watches", func() bool {
		w.Note(journal.Entry{Event: journal.Skipped, Name: "first"})
		flushed(t, w)
		return strings.Contains(shown.String(), "first")
	})
	entries, jobs := server.forge(t)
	lease(9)
	flushed(t, w)

	unread := fmt.Sprintf("%d entries of the journal cannot be read", entries)
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"history", "n"}, 0, []string{" 7 ", " 9 ", "entries of the journal cannot be read"}},
		{[]string{"history", "n", "-o", "json"}, 0, []string{`"token": 7`, `"token": 9`, "entries of the journal cannot be read"}},
		{[]string{"audit"}, 2, []string{"2 leases of 1 name", fmt.Sprintf("entries of the journal cannot be read: %d", entries)}},
		{[]string{"audit", "-o", "json"}, 2, []string{fmt.Sprintf(`"unreadable": %d`, entries), `"missing": 0`}},
		{[]string{"jobs"}, 0, []string{"nightly", "ok", fmt.Sprintf("%d jobs of the journal cannot be read", jobs)}},
		{[]string{"jobs", "-o", "json"}, 0, []string{`"nightly"`, fmt.Sprintf("%d jobs of the journal cannot be read", jobs)}},
	} {
		var out bytes.Buffer
		code := runInProcess(t.Context(), &out, &out, append(c.args, "--redis", server.url())...)
		for _, want := range c.want {
			if code != c.code || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("holdfast %s: got %d and %q, want %d and %q", strings.Join(c.args, " "), code, out.String(), c.code, want)
			}
		}
	}
	until(t, "watch shows what is honest, and says that it can't read the rest", func() bool {
		return strings.Contains(shown.String(), `"token":9`) && strings.Contains(said.String(), " of the journal cannot be read")
	})
	stop()
	if code := <-ended; code != 0 && code != 130 {
		t.Errorf("watch: got %d", code)
	}

	server.do(t, "HSET", hourly, "2147483647", "1 1 1 1", "5", "9223372036854775807 1 9223372036854775807 1", "6", "-1 0 0 0")
	server.do(t, "SET", "holdfast:held", "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.60000|o", "PX", "600000") // else there is nothing to show
	s := startServe(t, server.url())
	if code, answer := s.ask("GET", "/v1/history", ""); code != 200 || fmt.Sprint(answer["unreadable"]) != fmt.Sprint(entries) {
		t.Errorf("/v1/history: got %d and %.300v, want %d unreadable", code, answer, entries)
	}
	if code, answer := s.ask("GET", "/v1/jobs", ""); code != 200 || fmt.Sprint(answer["unreadable"]) != fmt.Sprint(jobs) {
		t.Errorf("/v1/jobs: got %d and %.300v, want %d unreadable", code, answer, jobs)
	}
	for path, want := range map[string]string{
		"/events": unread, "/jobs": fmt.Sprintf("%d jobs of the journal cannot be read", jobs), "/?span=day": "3 sums of the journal cannot be read",
	} {
		if page := s.page(path); !strings.Contains(page, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}

// Redis restarts without data. The journal begins in the middle of what a process wrote, so nothing
// before is proved.
func TestAuditAfterLostData(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	w := server.writes(t)
	audit := func(want int, words string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := runInProcess(t.Context(), &out, &out, append([]string{"audit", "--redis", server.url()}, args...)...); code != want || !strings.Contains(out.String(), words) {
			t.Errorf("audit: got %d and %s\nwant %d and %q", code, out.String(), want, words)
		}
	}
	for range 10 {
		w.Note(journal.Entry{Event: journal.Granted, Name: "n", Kind: holdfast.KindMutex, Token: 5})
		w.Note(journal.Entry{Event: journal.Released, Name: "n", Kind: holdfast.KindMutex, Token: 5})
	}
	flushed(t, w)
	server.stop(t)
	if !server.start(t) {
		t.Fatal("another process took the port")
	}
	w.Note(journal.Entry{Event: journal.Granted, Name: "n", Kind: holdfast.KindMutex, Token: 6})
	w.Note(journal.Entry{Event: journal.Released, Name: "n", Kind: holdfast.KindMutex, Token: 6})
	flushed(t, w)
	audit(2, "the journal begins at entry 20 of honest: 20 entries before it are missing, so nothing before ")
	audit(2, `"missing": 20`, "-o", "json")
}
