package report_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/bench/report"
)

// latest reads the committed figures, from the root of the repository.
func latest(t *testing.T) *report.Report {
	t.Helper()
	t.Chdir("../../..")
	r, err := report.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The page says what the committed figures say, and the file is as the program writes it.
func TestPageIsMadeOfTheLatestFigures(t *testing.T) {
	r := latest(t)
	var written bytes.Buffer
	if err := r.WriteJSON(&written); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{report.PageFile: r.Page(), report.LatestFile: written.Bytes()} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what %s says: run go run ./test/bench/cmd -report at the root of the repository", file, report.LatestFile)
		}
	}
}

// rows of two rounds of holdfast, of another library and of the loop, in B3.
func reportOf(ops, loop float64) *report.Report {
	row := func(who string, ops float64) report.Row {
		f := func() report.Figures {
			return report.Figures{"ops_per_s": ops, "p50_us": 1e6 / ops, "commands_per_op": 2}
		}
		r := report.Row{Workload: "B3", Who: who, Each: map[int]report.Figures{0: f(), 1: f()}}
		r.Merge()
		return r
	}
	return &report.Report{Rows: []report.Row{row("holdfast", ops), row("redsync", ops/100), row("limit", loop)}}
}

// A run on a machine of half the speed is no regression, and neither is one that reached the committed
// ratio once. One that is slower beside the loop of the same run is, and so is a command more.
func TestCheck(t *testing.T) {
	once, more := reportOf(1e6, 2e7), reportOf(2e6, 2e7)
	once.Rows[0].Each[1] = report.Figures{"ops_per_s": 2e6, "p50_us": 0.5, "commands_per_op": 2}
	more.Rows[0].Each[0]["commands_per_op"], more.Rows[0].Each[1]["commands_per_op"] = 2.2, 2.2
	for _, c := range []struct {
		what string
		now  *report.Report
		want string
	}{
		{"all at half the speed", reportOf(1e6, 1e7), ""},
		{"fast in one round", once, ""},
		{"holdfast at half the speed", reportOf(1e6, 2e7), "2 of 3 figures got worse"},
		{"a tenth more commands", more, "1 of 3 figures got worse"},
		{"nothing in common", &report.Report{}, "nothing to compare"},
	} {
		err := c.now.Check(reportOf(2e6, 2e7), io.Discard)
		if got := errorText(err); c.want == "" && err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The working tree is compared with the commit before in the rounds of one run.
func TestCompareBefore(t *testing.T) {
	r := reportOf(1e6, 2e7)
	before := reportOf(1.2e6, 2e7).Rows[0]
	before.Who += report.Before
	r.Rows = append(r.Rows, before)
	for percent, want := range map[float64]string{0: "", 25: "", 10: "2 of 3 figures got worse"} {
		var out strings.Builder
		err := r.CompareBefore(percent, &out)
		if got := errorText(err); want == "" && err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("at most %g %%: got %q, want %q\n%s", percent, got, want, &out)
		}
		if !strings.Contains(out.String(), "ratio 0.833 ± 0.000") {
			t.Errorf("no ratio of 0.833 in\n%s", &out)
		}
	}
}

// A goal follows the figures, and another library whose lock did not hold is no measure.
func TestGoals(t *testing.T) {
	wrong := reportOf(2e6, 2e7)
	wrong.Rows[1].Figures["overlaps"] = 1
	slow := reportOf(2e6, 2e7)
	slow.Rows[1] = reportOf(5e7, 2e7).Rows[1]
	for _, c := range []struct {
		r    *report.Report
		want string
	}{{reportOf(2e6, 2e7), "100 ± 0  met"}, {slow, "4 ± 0  NOT MET"}, {wrong, ""}} {
		var out strings.Builder
		if err := c.r.Print(&out); err != nil {
			t.Fatal(err)
		}
		_, goals, _ := strings.Cut(out.String(), "goal of")
		_, got, _ := strings.Cut(goals, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("got the goals %q, want %q", got, c.want)
		}
	}
}

// What -save keeps: the rows that were measured in place of those of the same workloads, the others as
// they were, and how each was measured.
func TestWith(t *testing.T) {
	of := func(word string, workloads ...string) *report.Report {
		r := &report.Report{Measured: map[string]string{word: "somehow"}}
		for _, w := range workloads {
			r.Rows = append(r.Rows, report.Row{Workload: w, Measured: word})
		}
		return r
	}
	all := of("day1", "B1", "B3", "F1").With(of("day2", "F1", "F2")).With(of("day3", "B3", "F1", "F2"))
	got := map[string]string{}
	for _, row := range all.Rows {
		got[row.Workload] = row.Measured
	}
	for workload, want := range map[string]string{"B1": "day1", "B3": "day3", "F1": "day3", "F2": "day3"} {
		if got[workload] != want {
			t.Errorf("%s: got %q, want %q", workload, got[workload], want)
		}
	}
	if len(all.Rows) != 4 || len(all.Measured) != 2 || all.Measured["day1"] == "" || all.Measured["day3"] == "" {
		t.Errorf("got %d rows, measured %v, want 4 of day1 and day3", len(all.Rows), all.Measured)
	}
}
