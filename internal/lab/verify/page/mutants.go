package main

import (
	"encoding/json"
	"fmt"
	"os"
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
	if !l.from(b, "mutants", "Guards taken out") {
		return
	}
	slowest := slices.MaxFunc(l.Mutants.List, func(a, b mutant) int { return int(a.Seconds - b.Seconds) })
	fmt.Fprintf(b, "%d guards, each taken out once: **%d caught**, each by the test that is named for it,\nbuild included in %.0f s at most. [All of them](verification/mutants.md).\n", l.Mutants.Tried, l.Mutants.Killed, slowest.Seconds)
}

func (l *latest) writeMutants() error {
	if len(l.Mutants.List) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("<!-- made by go run ./internal/lab/verify/page -->\n# Guards taken out\n\n")
	b.WriteString("`make mutants` takes each of these out of the code, one at a time, and runs the test that must fail then.\n\n")
	b.WriteString("| guard | in | test | caught in |\n|---|---|---|---:|\n")
	for _, m := range l.Mutants.List {
		word := fmt.Sprintf("%.1f s", m.Seconds)
		if !m.Killed {
			word = "**not caught**"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", strings.ReplaceAll(m.Guard, "|", "\\|"), m.File, m.Test, word)
	}
	return os.WriteFile(mutantsFile, []byte(b.String()), 0o644)
}
