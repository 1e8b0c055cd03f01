package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/machine"
)

// mutants are guards taken out, one at a time.
type mutants struct {
	Tried  int      `json:"tried"`
	Killed int      `json:"killed"`
	List   []mutant `json:"list,omitempty"`
}

type mutant struct {
	Guard   string  `json:"guard"`
	File    string  `json:"file"`
	Test    string  `json:"test"`
	Seconds float64 `json:"seconds"`
	Killed  bool    `json:"killed"`
}

// takeMutants puts what the files say, which must be of different guards, in place
// of what was there.
func (l *latest) takeMutants(files []string, command string, _ taking) error {
	l.Mutants = mutants{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var more mutants
		if err := json.Unmarshal(text, &more); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if len(more.List) == 0 {
			return fmt.Errorf("%s has no mutants: is it what -json of mutants has written?", file)
		}
		l.Mutants.Tried += more.Tried
		l.Mutants.Killed += more.Killed
		l.Mutants.List = append(l.Mutants.List, more.List...)
	}
	slices.SortFunc(l.Mutants.List, func(a, b mutant) int { return strings.Compare(a.Guard, b.Guard) })
	for i, m := range l.Mutants.List[1:] {
		if m.Guard == l.Mutants.List[i].Guard {
			return fmt.Errorf("%q is there twice: the files are not of different parts", m.Guard)
		}
	}
	l.Runs["mutants"] = origin{Command: command, Date: time.Now().Format(time.DateOnly), Machine: machine.WithServer()}
	return nil
}

func (l *latest) mutants(b *strings.Builder) {
	if !l.from(b, "mutants", "Guards removed") {
		return
	}
	fmt.Fprintf(b, "%d guards, each removed once: **%d caught**, each by the test that is named for it. [By area](verification/mutants.md).\n", l.Mutants.Tried, l.Mutants.Killed)
}

// largestFiles is how many files the page names, those with most guards.
const largestFiles = 12

// writeMutants writes the summary: counts by area, the files with most guards, and
// each guard that was not caught.
func (l *latest) writeMutants() error {
	if len(l.Mutants.List) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("<!-- made by go run ./internal/lab/verify/page from docs/verification/latest.json -->\n# Guards removed\n\n")
	b.WriteString("`make mutants` removes one guard of the code at a time and runs the test that must fail then. The tree is not changed.\n")
	b.WriteString("`go run ./internal/lab/mutants -run REGEXP` tries some guards, `-part 0/4` a quarter of them.\n")
	b.WriteString("The guards and their tests stand in [internal/lab/mutants](../../internal/lab/mutants); the time of each stands in\n[latest.json](latest.json).\n\n")
	run := l.Runs["mutants"]
	slowest := slices.MaxFunc(l.Mutants.List, func(a, b mutant) int { return cmp.Compare(a.Seconds, b.Seconds) })
	fmt.Fprintf(&b, "%s, %s: %d guards, **%d caught**. The slowest took %.0f s, its build included.\n\n", run.Date, run.Machine, l.Mutants.Tried, l.Mutants.Killed, slowest.Seconds)
	b.WriteString("| area | files | guards | caught |\n|---|---:|---:|---:|\n")
	for _, a := range counted(l.Mutants.List, area) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", a.name, len(a.files), a.guards, a.caught)
	}
	files := counted(l.Mutants.List, func(file string) string { return "`" + file + "`" })
	fmt.Fprintf(&b, "\nThe files with most guards:\n\n| file | guards | caught |\n|---|---:|---:|\n")
	for _, f := range files[:min(largestFiles, len(files))] {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", f.name, f.guards, f.caught)
	}
	for _, m := range l.Mutants.List {
		if !m.Killed {
			fmt.Fprintf(&b, "\n- **not caught**: %s, in `%s`, by `%s`\n", m.Guard, m.File, m.Test)
		}
	}
	return os.WriteFile(mutantsFile, []byte(b.String()), 0o644)
}

// group is a number of guards.
type group struct {
	name           string
	files          map[string]bool
	guards, caught int
}

// counted puts mutants into groups by their files, the largest first.
func counted(list []mutant, of func(file string) string) []group {
	at := map[string]*group{}
	for _, m := range list {
		g := at[of(m.File)]
		if g == nil {
			g = &group{name: of(m.File), files: map[string]bool{}}
			at[g.name] = g
		}
		g.files[m.File] = true
		g.guards++
		if m.Killed {
			g.caught++
		}
	}
	var all []group
	for _, g := range at {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.guards, a.guards), strings.Compare(a.name, b.name))
	})
	return all
}

// area is the directory of a file, the root package by its name.
func area(file string) string {
	if dir := path.Dir(file); dir != "." {
		return "`" + dir + "`"
	}
	return "`holdfast` (root)"
}
