package main

import (
	"os"
	"strings"
	"testing"
)

// README's table is of what was kept, and nothing else of it is touched.
func TestReadmeHasTheFigures(t *testing.T) {
	in(t)
	soaked := `{"seconds": 7200, "clients": 200, "faults": {"cut": 1200}, "total": {"Granted": 400000},
		"trends": {"resident, bytes": {"begin": 100, "end": 104}, "goroutines": {"begin": 1000, "end": 990}}}`
	if err := os.WriteFile("soak.json", []byte(soaked), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := update([]string{"-histories", "a.json,b.json", "-mutants", "m1.json,m2.json", "-soak", "soak.json"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	if !strings.HasPrefix(readme, "Above.\n"+figuresBegin) || !strings.HasSuffix(readme, figuresEnd+"Below.\n") {
		t.Errorf("the rest was touched:\n%s", readme)
	}
	for _, want := range []string{
		"5 histories, 27 faults: 0 promises broken", "| 2 of 3 noticed |",
		"2.0 h, 400,000 locks, 1,200 faults: memory +4 %, goroutines -1 %", "with lost, late and doubled messages | – |",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README does not say %q:\n%s", want, readme)
		}
	}
	if err := os.WriteFile(readmeFile, []byte("No table.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := update(nil); err == nil || !strings.Contains(err.Error(), "no table between") {
		t.Errorf("without a table: %v", err)
	}
}

// Parts of the mutants are added up; the same part twice is refused.
func TestMutantsAreAddedUp(t *testing.T) {
	in(t)
	if err := update([]string{"-mutants", "m1.json", "-mutants", "m2.json"}); err != nil {
		t.Fatal(err)
	}
	l, text := kept(t)
	if l.Mutants.Tried != 3 || l.Mutants.Killed != 2 || l.Mutants.Slowest != 4 || l.Mutants.Areas["."] != (area{1, 3, 2}) {
		t.Errorf("kept %+v", l.Mutants)
	}
	if want := "3 guards, each removed once: **2 caught**"; !strings.Contains(text, want) {
		t.Errorf("the page does not say %q:\n%s", want, text)
	}
	summary, err := os.ReadFile(mutantsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 guards, **2 caught**", "| `holdfast` (root) | 1 | 3 | 2 |", "- **not caught**: c, in `f.go`, by `TestC`"} {
		if !strings.Contains(string(summary), want) {
			t.Errorf("the summary does not say %q:\n%s", want, summary)
		}
	}
	if err := update([]string{"-mutants", "m1.json,m1.json"}); err == nil || !strings.Contains(err.Error(), `"b" is there twice`) {
		t.Errorf("the same part twice: %v", err)
	}
	if err := update([]string{"-mutants", "a.json"}); err == nil || !strings.Contains(err.Error(), "has no mutants") {
		t.Errorf("a file of something else: %v", err)
	}
}

// What stands in docs and in README is of docs/verification/latest.json.
func TestPagesAreOfTheFile(t *testing.T) {
	root := "../../../"
	files := map[string]string{}
	for _, name := range []string{latestFile, pageFile, readmeFile} {
		text, err := os.ReadFile(root + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("docs/verification", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := update(nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not what go run ./test/faults/page makes of %s: run it (%v)", name, latestFile, err)
		}
	}
}
