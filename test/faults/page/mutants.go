package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/support/figures"
)

// mutants are guards taken out, one at a time.
type mutants struct {
	Tried   int             `json:"tried"`
	Killed  int             `json:"killed"`
	Slowest float64         `json:"slowest_seconds,omitempty"` // until one was caught, its build included
	Areas   map[string]area `json:"areas,omitempty"`           // by directory, see summary
	Missed  []mutant        `json:"missed,omitempty"`
}

// area is how many guards of a directory were taken out, and how many of them caught.
type area struct {
	Files  int `json:"files"`
	Guards int `json:"guards"`
	Caught int `json:"caught"`
}

type mutant struct {
	Guard   string  `json:"guard"`
	File    string  `json:"file"`
	Test    string  `json:"test"`
	Seconds float64 `json:"seconds"`
	Killed  bool    `json:"killed"`
}

// mutantsResult is what mutants writes.
type mutantsResult struct {
	Tried  int      `json:"tried"`
	Killed int      `json:"killed"`
	List   []mutant `json:"list"`
}

// takeMutants puts what the files say, which must be of different guards, in place
// of what was there.
func takeMutants(l *latest, from source) error {
	var sum mutantsResult
	for _, file := range from.files {
		var more mutantsResult
		if err := figures.ReadJSON(file, &more); err != nil {
			return err
		}
		if len(more.List) == 0 {
			return fmt.Errorf("%s has no mutants: is it what -json of mutants has written?", file)
		}
		sum.Tried += more.Tried
		sum.Killed += more.Killed
		sum.List = append(sum.List, more.List...)
	}
	slices.SortFunc(sum.List, func(a, b mutant) int { return strings.Compare(a.Guard, b.Guard) })
	for i, m := range sum.List[1:] {
		if m.Guard == sum.List[i].Guard {
			return fmt.Errorf("%q is there twice: the files are not of different parts", m.Guard)
		}
	}
	l.Mutants = sum.summary()
	l.ran(from.flag, from.now())
	return nil
}

// summary counts the guards of each directory, with those below it from the third level on.
func (r *mutantsResult) summary() mutants {
	m := mutants{Tried: r.Tried, Killed: r.Killed, Areas: map[string]area{}}
	files := map[string]bool{}
	for _, g := range r.List {
		dir := path.Dir(g.File)
		for strings.Count(dir, "/") > 1 {
			dir = path.Dir(dir)
		}
		a := m.Areas[dir]
		a.Guards++
		if g.Killed {
			a.Caught++
		} else {
			m.Missed = append(m.Missed, g)
		}
		if !files[g.File] {
			a.Files++
		}
		files[g.File], m.Areas[dir] = true, a
		m.Slowest = max(m.Slowest, g.Seconds)
	}
	return m
}

func writeGuards(l *latest, b *strings.Builder) {
	if !l.from(b, "mutants", "Guards removed") {
		return
	}
	fmt.Fprintf(b, "%d guards, each removed once: **%d caught**, each by the test that is named for it. [By area](verification/mutants.md).\n", l.Mutants.Tried, l.Mutants.Killed)
}

// writeMutants writes the summary: counts by area, and each guard that was not caught.
func writeMutants(l *latest) error {
	m, runs := l.Mutants, l.of("mutants")
	if len(runs) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("<!-- made by go run ./test/faults/page from docs/verification/latest.json -->\n# Guards removed\n\n")
	b.WriteString("`make mutants` removes one guard of the code at a time and runs the test that must fail then. The tree is not changed.\n")
	b.WriteString("`make mutants MUTANTS='-part 0/4'` removes a quarter of them, `-part 0/1 -guard REGEXP` those that match.\n")
	b.WriteString("The guards and their tests stand in [test/mutation](../../test/mutation).\n\n")
	fmt.Fprintf(&b, "%s, %s: %d guards, **%d caught**. The slowest took %.0f s, its build included.\n\n", runs[0].Date, runs[0].Machine, m.Tried, m.Killed, m.Slowest)
	b.WriteString("| area | files | guards | caught |\n|---|---:|---:|---:|\n")
	names := slices.SortedFunc(maps.Keys(m.Areas), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.Areas[b].Guards, m.Areas[a].Guards), strings.Compare(a, b))
	})
	for _, name := range names {
		a := m.Areas[name]
		if name = "`" + name + "`"; name == "`.`" {
			name = "`holdfast` (root)"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", name, a.Files, a.Guards, a.Caught)
	}
	for _, g := range m.Missed {
		fmt.Fprintf(&b, "\n- **not caught**: %s, in `%s`, by `%s`\n", g.Guard, g.File, g.Test)
	}
	return os.WriteFile(mutantsFile, []byte(b.String()), 0o644)
}
