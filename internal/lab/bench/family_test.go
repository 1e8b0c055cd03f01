package bench_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/bench"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// More inside than there is room for is seen: leaders, permits, a writer beside
// readers.
func TestFamilyOverlapsAreSeen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, workload := range []string{"F1", "F3", "F3w", "F6"} {
		var row bench.Row
		for tries := 0; row.Overlaps == 0 && tries < 30; tries++ { // processes that get a core one after the other never meet
			row = bench.Cell(t, server, bench.None, workload, 100*time.Millisecond)
		}
		if row.Overlaps == 0 {
			t.Errorf("%s without any lock: got 0 overlaps of %.0f entries per second, want some", workload, row.OpsPerSecond)
		}
	}
}

// A quick run has every row, and holdfast's say that it locked, and never too
// many.
func TestQuickRunOfTheFamily(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	var out, talk bytes.Buffer
	if err := bench.Main([]string{"-quick", "-o", "json", "-run", "^F"}, &out, &talk); err != nil {
		t.Fatalf("%v\n%s", err, &talk)
	}
	var report bench.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	for _, pair := range bench.FamilyPairs(report.Versions["etcd"] != "") {
		i := slices.IndexFunc(report.Rows, func(r bench.Row) bool { return r.Workload == pair[0] && r.Who == pair[1] })
		if i < 0 {
			t.Errorf("no row of %s in %s\n%s", pair[1], pair[0], &talk)
			continue
		}
		row := report.Rows[i]
		if bench.IsOurs(row.Who) && row.OpsPerSecond == 0 { // a busy machine may need more than a short window
			row = bench.Cell(t, redistest.Start(t, redistest.Options{}), row.Who, row.Workload, 10*time.Second)
		}
		if bench.IsOurs(row.Who) && (row.OpsPerSecond <= 0 || row.Failed > 0) {
			t.Errorf("%s in %s: got %.0f locks per second and %d failures (%s), want some and none",
				row.Who, row.Workload, row.OpsPerSecond, row.Failed, row.Failure)
		}
	}
	for _, name := range bench.FamilyBulk() {
		rows := slices.DeleteFunc(slices.Clone(report.Bulk), func(r bench.BulkRow) bool { return r.Workload != name })
		if len(rows) == 0 {
			t.Errorf("no row of %s\n%s", name, &talk)
		}
		for _, row := range rows {
			for _, f := range row.Figures {
				if !f.Met {
					t.Errorf("%s, %s: %s is %g %s, want %s", name, row.Who, f.Name, f.Value, f.Unit, f.Limit)
				}
			}
		}
	}
}

// The figure "commands" of the family is a sum over names too, see counters.go.
func TestFamilySends(t *testing.T) {
	for _, pair := range bench.FamilyPairs(false) {
		sends := bench.FamilySends(pair[0], pair[1])
		if len(sends) == 0 {
			continue
		}
		t.Run(pair[0]+" "+pair[1], func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			monitor := watch(t, server.Addr())
			bench.ContendIn(t, server, pair[0], pair[1])
			server.MustDo(t, "ECHO", "end")
			sent, inScripts := monitor()
			if len(sent) == 0 {
				t.Error("the client sent nothing")
			}
			for _, command := range sent {
				if !bench.IsUncounted(command) && !slices.Contains(sends, command) {
					t.Errorf("the client sends %s, which is not in its list %v", command, sends)
				}
			}
			for _, command := range inScripts {
				if slices.Contains(sends, command) {
					t.Errorf("a script calls %s, which is in the list of what the client sends", command)
				}
			}
		})
	}
}

func familyReport(date string, ops float64, workloads ...string) *bench.Report {
	r := &bench.Report{Date: date, Versions: map[string]string{"holdfast-go/holdfast": "commit-" + date}, Settings: map[string]string{}}
	for _, w := range workloads {
		f := bench.Figures{OpsPerSecond: ops}
		r.Rows = append(r.Rows, bench.Row{Workload: w, Who: "holdfast", Figures: f, Each: []bench.Round{{Figures: f}}})
	}
	return r
}

// What -save with -run keeps: the rows that were measured in place of those of the
// same workloads, the others as they were, and a word on what was measured when.
func TestSavedPart(t *testing.T) {
	r := familyReport("day1", 1, "B1", "B3", "F1")
	r.Bulk = []bench.BulkRow{{Workload: "B8", Who: "holdfast"}}
	second := familyReport("day2", 2, "F1", "F2")
	second.Bulk = []bench.BulkRow{{Workload: "F4", Who: "holdfast"}}
	r = bench.With(r, second)
	r = bench.With(r, familyReport("day3", 3, "B3", "F2"))
	got := map[string]float64{}
	var order []string
	for _, row := range r.Rows {
		got[row.Workload], order = row.OpsPerSecond, append(order, row.Workload)
	}
	for workload, want := range map[string]float64{"B1": 1, "B3": 3, "F1": 2, "F2": 3} {
		if got[workload] != want {
			t.Errorf("%s: got %g, want %g", workload, got[workload], want)
		}
	}
	if want := []string{"B1", "B3", "F1", "F2"}; !slices.Equal(order, want) {
		t.Errorf("got rows of %v, want of %v", order, want)
	}
	if len(r.Bulk) != 2 || r.Date != "day1" {
		t.Errorf("got %d bulk rows of %s, want both, and the date of the whole", len(r.Bulk), r.Date)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	page, err := bench.Page(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"measured later: F1, F4, on day2, of holdfast commit-day2", "measured later: B3, F2, on day3, of holdfast commit-day3", "## Other kinds", "### F4: "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// A part of a workload can't be kept: its rows would be compared with those of
// another run.
func TestSaveOfSomeOfAWorkload(t *testing.T) {
	var out, talk bytes.Buffer
	if err := bench.Main([]string{"-save", "-run", "^F2$", "-who", "holdfast"}, &out, &talk); err == nil {
		t.Error("-save with -who: got nil, want an error")
	}
}
