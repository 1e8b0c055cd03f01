package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/support/figures"
)

const docs = "../../../docs"

func latest(t *testing.T) *report.Report {
	t.Helper()
	var r report.Report
	if err := figures.ReadJSON(filepath.Join(docs, "benchmarks", "latest.json"), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// The page says what the committed figures say.
func TestPageIsMadeOfTheLatestFigures(t *testing.T) {
	want, err := report.Page(latest(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/benchmarks.md is not what docs/benchmarks/latest.json says: run go run ./test/bench/cmd -report at the root of the repository")
	}
}

// Every picture of the page is there and shows what the committed figures are
// of. (Not to the byte: where a line ends may depend on the processor.)
func TestPicturesAreThere(t *testing.T) {
	plots, err := report.Plots(latest(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(plots) == 0 {
		t.Error("got no pictures")
	}
	for name, want := range plots {
		got, err := os.ReadFile(filepath.Join(docs, "benchmarks", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got, want := texts(got), texts(want); got != want {
			t.Errorf("%s says\n%s\nand the figures\n%s\nrun go run ./test/bench/cmd -report at the root of the repository", name, got, want)
		}
	}
}

// texts are the words of a picture.
func texts(svg []byte) string {
	var b strings.Builder
	for i, part := range strings.Split(string(svg), "<text") {
		if _, text, ok := strings.Cut(part, ">"); i > 0 && ok {
			word, _, _ := strings.Cut(text, "</text>")
			b.WriteString(word + "\n")
		}
	}
	return b.String()
}

// two rounds of holdfast and of the loop, in B3.
func reportOf(ops, loop float64) *report.Report {
	row := func(who string, ops float64) report.Row {
		f := report.Figures{OpsPerSecond: ops, P50: 1e6 / ops, P99: 1e7 / ops, Max: 1e8 / ops, Jain: 1}
		return report.Row{Workload: "B3", Who: who, Figures: f, Each: []report.Round{{Round: 0, Figures: f}, {Round: 1, Figures: f}}}
	}
	return &report.Report{Rows: []report.Row{row("holdfast", ops), row("redsync", ops/100), row("limit", loop)}}
}

// A run on a machine of half the speed is no regression; one that is slower
// beside the loop of the same run is.
func TestGuardComparesWithTheLimit(t *testing.T) {
	committed := reportOf(2e6, 2e7)
	if got := report.Compare(committed, reportOf(1e6, 1e7)); len(got) != 0 {
		t.Errorf("all at half the speed: got %v, want nothing worse", got)
	}
	if got := report.Compare(committed, reportOf(1e6, 2e7)); len(got) != 2 {
		t.Errorf("holdfast at half the speed: got %v, want locks per second and p50 worse", got)
	}
}

// What reached the committed ratio in one round is the machine's; a command more is not.
func TestGuardLooksAtAllRounds(t *testing.T) {
	committed := reportOf(2e6, 2e7)
	uneven := reportOf(1e6, 2e7)
	once := &uneven.Rows[0].Each[1]
	once.OpsPerSecond, once.P50 = 2e6, 0.5
	if got := report.Compare(committed, uneven); len(got) != 0 {
		t.Errorf("as fast as ever in one round: got %v, want nothing worse", got)
	}
	more := reportOf(2e6, 2e7)
	for _, r := range []*report.Report{committed, more} {
		row := &r.Rows[0]
		row.Commands = 2
		row.Each[0].Commands, row.Each[1].Commands = 2, 2
	}
	more.Rows[0].Commands = 2.2
	more.Rows[0].Each[0].Commands, more.Rows[0].Each[1].Commands = 2.2, 2.2
	if got := report.Compare(committed, more); len(got) != 1 {
		t.Errorf("a tenth more commands: got %v, want that", got)
	}
}

// The verdict follows the figures, and a peer whose lock did not hold is no
// measure.
func TestVerdicts(t *testing.T) {
	turns := [3]string{"B3", "holdfast", "turns per second"}
	peer := [3]string{"B3", "holdfast", "locks per second ÷ best other"}
	good := reportOf(2e6, 2e7)
	for _, c := range []struct {
		key  [3]string
		of   *report.Report
		want string
	}{
		{turns, good, "met"},
		{turns, reportOf(5e5, 2e7), "not met"},
		{peer, good, "met"},
		{peer, wrongPeer(), "not measured"},
		{turns, &report.Report{}, "not measured"},
	} {
		if got := report.Verdicts(c.of)[c.key]; got != c.want {
			t.Errorf("%v: got %q, want %q", c.key, got, c.want)
		}
	}
}

// What a limit that does less does not reach either is told apart from what it does.
func TestVerdictsNameWhatNobodyReaches(t *testing.T) {
	row := func(who string, ops float64) report.Row {
		f := report.Figures{OpsPerSecond: ops}
		return report.Row{Workload: "B2", Who: who, Figures: f, Each: []report.Round{{Figures: f}}}
	}
	key := [3]string{"B2", "holdfast", "locks per second ÷ best other"}
	for _, c := range []struct {
		own, least float64
		want       string
	}{{150, 160, "met"}, {150, 120, "met"}, {110, 160, "not met"}, {110, 120, "not met, nor by any limit"}, {110, 105, "not met"}, {110, 0, "not met"}} {
		r := &report.Report{Rows: []report.Row{row("holdfast", c.own), row("redsync", 100)}}
		if c.least > 0 {
			r.Rows = append(r.Rows, row("limit-token-rueidis", c.least))
		}
		if got := report.Verdicts(r)[key]; got != c.want {
			t.Errorf("%v and the least %v of 100: got %q, want %q", c.own, c.least, got, c.want)
		}
	}
}

func wrongPeer() *report.Report {
	r := reportOf(2e6, 2e7)
	r.Rows[1].Overlaps = 1
	return r
}

// The file is as the program writes it, and a report is read as it was written.
func TestJSONIsReadBack(t *testing.T) {
	var written bytes.Buffer
	if err := figures.WriteJSON(&written, latest(t)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(docs, "benchmarks", "latest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written.Bytes(), want) {
		t.Error("docs/benchmarks/latest.json is not what is written of what is read from it")
	}
}

func familyReport(date string, ops float64, workloads ...string) *report.Report {
	r := &report.Report{Date: date, Versions: map[string]string{"holdfast-go/holdfast": "commit-" + date}, Settings: map[string]string{}}
	for _, w := range workloads {
		f := report.Figures{OpsPerSecond: ops}
		r.Rows = append(r.Rows, report.Row{Workload: w, Who: "holdfast", Figures: f, Each: []report.Round{{Figures: f}}})
	}
	return r
}

// What -save with -run keeps: the rows that were measured in place of those of the
// same workloads, the others as they were, and a word on what was measured when.
func TestSavedPart(t *testing.T) {
	r := familyReport("day1", 1, "B1", "B3", "F1")
	r.Bulk = []report.BulkRow{{Workload: "B8", Who: "holdfast"}}
	second := familyReport("day2", 2, "F1", "F2")
	second.Bulk = []report.BulkRow{{Workload: "F4", Who: "holdfast"}}
	r = report.With(r, second)
	r = report.With(r, familyReport("day3", 3, "B3", "F2"))
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
	page, err := report.Page(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"measured later: F1, F4, on day2, of holdfast commit-day2", "measured later: B3, F2, on day3, of holdfast commit-day3", "## Other kinds", "### F4: "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
