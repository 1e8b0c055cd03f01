package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// keys is a store in which anybody may have written anything: each script of the journal that
// reads has its answer.
type keys struct {
	driver.Store
	entries     [][]string // ID and ten fields
	jobs, hours []string   // names and values
	unread      int        // entries, as read counts them
}

const (
	stamp = 1_800_000_000_000_000 // the server's time, in microseconds
	came  = "1800000000000-0"     // an ID of that time
)

func (k *keys) Eval(_ context.Context, call driver.Call) ([]string, error) {
	now := strconv.Itoa(stamp)
	switch call.Script.Name {
	case "journal_read":
		reply := []string{"read", now, came, came, strconv.Itoa(len(k.entries)), came}
		return append(reply, slices.Concat(k.entries...)...), nil
	case "job_list":
		return append([]string{"jobs", now}, k.jobs...), nil
	case "journal_sums":
		return append([]string{"sums"}, k.hours...), nil
	}
	return nil, errors.New("an unknown script")
}

// honest is an entry as a Writer writes it.
func honest() []string {
	return []string{came, "0123456789abcdef", "0", "5000000", strconv.Itoa(stamp - 1000), "100", "granted", "n", "host:1", "64", `{"waited":5}`}
}

const record = "1799999999000000 1799999999500000 1799999999500000 1799999999000000 0 500 0 w 1 1 0123456789 0 0 0 20833 0 0 host:1"

// read reads everything as the commands do, and encodes it as they do.
func (k *keys) read(t *testing.T) (entries []journal.Entry, jobs []journal.Job, hours []journal.Hour) {
	t.Helper()
	unreadable := 0
	for e, err := range journal.Read(t.Context(), k, journal.Query{}) {
		if errors.Is(err, journal.ErrEntry) {
			unreadable++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
		encodes(t, e)
		if long := max(len(e.Name), len(e.Owner), len(e.Writer), len(e.Reason), len(e.Client), len(e.Cause), len(e.Kind)); long > 512 || strings.ContainsFunc(e.Name+e.Owner+e.Reason, func(r rune) bool { return r < ' ' || r == 0xfffd }) {
			t.Errorf("got %+.200v, want short texts without control characters", e)
		}
	}
	jobs, badJobs, err := journal.Jobs(t.Context(), k, "")
	if err != nil || len(jobs)+badJobs != len(k.jobs)/2 {
		t.Fatalf("got %d jobs, %d unreadable, %v, want %d in all", len(jobs), badJobs, err, len(k.jobs)/2)
	}
	for _, j := range jobs {
		encodes(t, j)
		for _, runs := range []bool{true, false} {
			if state := j.State(runs); !slices.Contains(journal.JobStates(), state) {
				t.Errorf("got the state %q", state)
			}
		}
	}
	hours, badHours, err := journal.Hours(t.Context(), k, "")
	if err != nil || len(hours)+badHours != len(k.hours)/2 {
		t.Fatalf("got %d hours, %d unreadable, %v, want %d in all", len(hours), badHours, err, len(k.hours)/2)
	}
	for _, h := range hours {
		encodes(t, h)
		if h.Granted < 0 || h.Lost < 0 || h.Waited < 0 || h.Longest < 0 || h.Longest > h.Waited {
			t.Errorf("got %+v", h)
		}
	}
	k.unread = unreadable
	return entries, jobs, hours
}

func encodes(t *testing.T, v any) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("%+.300v: %v", v, err)
	}
}

// What no Writer wrote is counted and left out. What one wrote stays.
func TestUnreadable(t *testing.T) {
	for field, values := range map[int][]string{
		1:  {"", "a\x00", strings.Repeat("w", 65)},
		2:  {"-1", "9007199254740993", "x", ""},
		3:  {"-9223372036854775808", "315360000000001"},
		4:  {"253402300800000000", "9223372036854775807", "-1", "0", "NaN", strconv.Itoa(stamp + 86_400_000_001), strconv.Itoa(stamp - 32*86_400_000_000 - 1)},
		5:  {"-1", "315360000000001", "1.5"},
		6:  {"", "conquered", "GRANTED"},
		7:  {"a\nb", "\xff", strings.Repeat("n", 513)},
		8:  {"\x1b[2J", strings.Repeat("o", 65)},
		9:  {"-1", "9007199254740993"},
		10: {"x", `[]`, `{"held":-1}`, `{"held":315360000000001}`, `{"waited":1e99}`, `{"every":-2}`, `{"expect":-1}`, `{"n":-1}`, `{"code":4294967297}`, `{"reason":"\n"}`, `{"cause":"` + strings.Repeat("c", 65) + `"}`, `{"kind":"\u001b"}`, `{"client":"\u0000"}`, `{"maxlen":-1}`, `{"x":"` + strings.Repeat("x", 8<<10) + `"}`},
	} {
		for _, value := range values {
			e := honest()
			e[field] = value
			k := keys{entries: [][]string{e, honest()}}
			if entries, _, _ := k.read(t); len(entries) != 1 || k.unread != 1 {
				t.Errorf("field %d is %.80q: got %d entries and %d unreadable, want one each", field, value, len(entries), k.unread)
			}
		}
	}
	good := []string{"n", record}
	for _, job := range [][]string{
		{"x", "junk"}, {"", record}, {"a\x1b", record}, {strings.Repeat("n", 513), record}, {"x", record + strings.Repeat("o", 60)}, {"x", record + "\n"},
		{"x", strings.Replace(record, "1799999999000000", "253402300800000000", 1)}, {"x", strings.Replace(record, "1799999999000000", "-5", 1)},
		{"x", strings.Replace(record, " 500 ", " 9223372036854775807 ", 1)}, {"x", strings.Replace(record, " 0 500", " 4294967297 500", 1)},
		{"x", strings.Replace(record, "0123456789 0", "0123456789 9223372036854775807", 1)}, {"x", strings.Replace(record, "0123456789 0", "0123456789 -2", 1)},
		{"x", strings.Replace(record, "0123456789 0 0 0", "0123456789 0 253402300800000000 0", 1)}, {"x", strings.Replace(record, "0123456789 0 0 0", "0123456789 0 0 -1", 1)},
		{"x", strings.Replace(record, "500 0 w", "500 -1 w", 1)}, {"x", strings.Replace(record, "20833 0", "20833 "+strings.Repeat("1,", 2000), 1)},
	} {
		k := keys{jobs: slices.Concat(good, job)}
		if _, jobs, _ := k.read(t); len(jobs) != 1 || jobs[0].Name != "n" {
			t.Errorf("job %.200q: got %.300v, want only the other", job, jobs)
		}
	}
	for _, sum := range [][]string{
		{"x", "1 1 1 1"}, {"-1", "1 1 1 1"}, {"2147483647", "1 1 1 1"}, {"007", "1 1 1 1"}, {"7", "1 1 1"}, {"7", "1 1 1 2"}, {"7", "-1 1 1 1"},
		{"7", "9223372036854775807 1 1 1"}, {"7", "1 1 9007199254740991 1"}, {"7", "1 1 1 1 1"},
	} {
		k := keys{hours: slices.Concat([]string{"499999", "5 1 900 300"}, sum)}
		if _, _, hours := k.read(t); len(hours) != 1 || hours[0].Granted != 5 {
			t.Errorf("sum %q: got %v, want only the other", sum, hours)
		}
	}
	entries := (&keys{entries: [][]string{{"18446744073709551615-18446744073709551615", "w", "0", "0", strconv.Itoa(stamp - 40*86_400_000_000), "1", "skipped", "n", "o", "0", ""}}})
	if got, _, _ := entries.read(t); len(got) != 1 { // the ID is a lie, the entry need not be
		t.Errorf("got %v, want an entry behind a forged ID", got)
	}
}

// A Writer's own entries are readable, whatever a program notes.
func TestNotesAreReadable(t *testing.T) {
	s := newServer()
	w := journal.NewWriter(s, quietly(journal.Options{Owner: "o\x1b\xff", MaxLen: 7, Every: time.Millisecond}))
	long := strings.Repeat("<\x00", 1000)
	for _, e := range []journal.Entry{
		{Event: journal.Revoked, Name: long, Owner: long, Reason: long, Client: long, Cause: "\x07", Kind: "\x07", Token: -1, Held: -1, Waited: 1 << 62, N: -1, Code: 1 << 40, Every: -5, Expect: 1 << 62},
		{Event: journal.Started, At: time.Unix(0, 0), Every: 1 << 62, Token: 1 << 62, N: 1 << 62, Code: -1 << 40},
		{Event: journal.Skipped, At: time.Now().Add(100 * 365 * 24 * time.Hour)},
	} {
		w.Note(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var k keys
	for _, e := range s.entries {
		at, _ := strconv.ParseInt(e[3], 10, 64)
		k.entries = append(k.entries, append([]string{came}, e...))
		k.entries[len(k.entries)-1][4] = fmt.Sprint(stamp + at - time.Now().UnixMicro()) // this test has another time
	}
	if entries, _, _ := k.read(t); len(entries) != 3 || k.unread != 0 {
		t.Errorf("got %d entries and %d unreadable of %q, want 3 and none", len(entries), k.unread, k.entries)
	}
}

// FuzzJournal reads a journal in which anybody may have written anything, as the commands do: an
// entry, a job or an hour in a line, its fields behind tabs. An honest lease in it stays.
func FuzzJournal(f *testing.F) {
	line := func(fields []string) string { return strings.Join(fields, "\t") }
	f.Add(line(honest()), "n\t"+record, "499999\t5 1 900 300")
	for _, field := range []int{2, 3, 4, 5, 9} {
		for _, value := range []string{"9223372036854775807", "-9223372036854775808", "9007199254740992", "315360000000000", "-315360000000000", strconv.Itoa(stamp)} {
			e := honest()
			e[field] = value
			f.Add(line(e)+"\n"+line(honest()), "n\t"+strings.ReplaceAll(record, " 0 ", " "+value+" "), "9\t"+value+" 0 "+value+" "+value)
		}
	}
	f.Add("18446744073709551615-18446744073709551615\tw\t9\t-315360000000000\t1800000000000000\t315360000000000\treleased\tn\to\t64\t{\"held\":315360000000000}\n"+line(honest()), "", "")
	f.Fuzz(func(t *testing.T, entries, jobs, hours string) {
		k := &keys{}
		split := func(text string, fields int) (all [][]string) {
			for text := range strings.SplitSeq(text, "\n") {
				part := strings.SplitN(text, "\t", fields)
				all = append(all, append(part, make([]string, fields-len(part))...))
			}
			return all[:min(len(all), 100)]
		}
		k.entries = split(entries, 11)
		k.jobs, k.hours = slices.Concat(split(jobs, 2)...), slices.Concat(split(hours, 2)...)
		honestly := honest()
		honestly[1] = "honest" + strconv.Itoa(len(entries)) // no forged Writer can have guessed it
		honestly[7] = "honest"
		k.entries = append(k.entries, honestly)
		got, _, _ := k.read(t)
		if !slices.ContainsFunc(got, func(e journal.Entry) bool { return e.Writer == honestly[1] }) && !strings.Contains(entries, honestly[1]) {
			t.Errorf("the honest entry is not read")
		}
		journal.HeldSince(journal.Read(t.Context(), k, journal.Query{Newest: true}), []string{"host:1", "o"})
		report, err := journal.Audit(journal.Read(t.Context(), k, journal.Query{}), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		now := time.UnixMicro(stamp)
		if report.Missing < 0 || report.Uncertainty < 0 || report.Unreadable != k.unread || report.From.Before(now.AddDate(-11, 0, 0)) || report.To.After(now.AddDate(0, 0, 2)) {
			t.Errorf("got %+v", report)
		}
		for _, finding := range report.Findings {
			if finding.By < 0 || finding.Rule != journal.TokenTwice && finding.By == 0 {
				t.Errorf("got %+v", finding)
			}
			_ = finding.String()
		}
		encodes(t, report)
	})
}
