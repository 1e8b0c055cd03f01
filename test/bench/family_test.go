package bench_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/bench"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// More inside than there is room for is seen: leaders, permits, a writer beside
// readers.
func TestFamilyOverlapsAreSeen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, name := range []string{"F1", "F3", "F3w", "F6"} {
		var row report.Row
		for tries := 0; row.Overlaps == 0 && tries < 30; tries++ { // processes that get a core one after the other never meet
			row = run(t, server, nobody, name, 100*time.Millisecond)
		}
		if row.Overlaps == 0 {
			t.Errorf("%s without any lock: got 0 overlaps of %.0f entries per second, want some", name, row.OpsPerSecond)
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
	var found report.Report
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	allRows(t, found, workload.Family, &talk)
	for _, w := range workload.FamilyBulk {
		rows := slices.DeleteFunc(slices.Clone(found.Bulk), func(r report.BulkRow) bool { return r.Workload != w.Name })
		if len(rows) == 0 {
			t.Errorf("no row of %s\n%s", w.Name, &talk)
		}
		for _, row := range rows {
			for _, f := range row.Figures {
				if !f.Met {
					t.Errorf("%s, %s: %s is %g %s, want %s", w.Name, row.Who, f.Name, f.Value, f.Unit, f.Limit)
				}
			}
		}
	}
}

func TestFamilySends(t *testing.T) {
	for _, p := range pairs(workload.Family, false) {
		if len(p.who.Sends) == 0 {
			continue
		}
		t.Run(p.workload.Name+" "+p.who.Who, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			sentAsListed(t, server, p.who.Sends, func() { twice(t, server, p) })
		})
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
