package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// below is where the page is made anew; what stands above is written by hand.
const below = "<!-- made by go run ./internal/lab/verify/page from docs/verification/latest.json; edit what is above -->\n"

func (l *latest) writePage() error {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	above, _, _ := strings.Cut(string(text), below)
	var b strings.Builder
	b.WriteString(strings.TrimRight(above, "\n") + "\n\n" + below + "\n## What was run\n")
	l.machines(&b)
	l.writeHistories(&b)
	l.contexts(&b)
	l.controls(&b)
	l.peers(&b)
	l.soak(&b)
	l.simulation(&b)
	l.models(&b)
	l.mutants(&b)
	return os.WriteFile(pageFile, []byte(b.String()), 0o644)
}

// from says how and where a part was found.
func (l *latest) from(b *strings.Builder, flag, title string) bool {
	run, ok := l.Runs[flag]
	if !ok {
		return false
	}
	fmt.Fprintf(b, "\n### %s\n\n", title)
	if len(run.Parts) == 0 {
		fmt.Fprintf(b, "`%s`, %s, machine %s\n\n", run.Command, run.Date, l.letter(run.Machine))
		return true
	}
	fmt.Fprintf(b, "%d runs. The command of each stands in [latest.json](verification/latest.json).\n\n", len(run.Parts))
	for _, on := range byMachine(run.Parts) {
		first, last := on[0], on[len(on)-1]
		histories, seconds := 0, 0.0
		for _, p := range on {
			histories, seconds = histories+p.Histories, seconds+p.Seconds
		}
		fmt.Fprintf(b, "- %s to %s, machine %s: %s, %s histories in %.0f s\n", first.Date, last.Date, l.letter(first.Machine), runs(len(on)), thousands(histories), seconds)
	}
	b.WriteString("\n")
	return true
}

// machines names each machine by a letter.
func (l *latest) machines(b *strings.Builder) {
	b.WriteString("\n")
	for _, name := range l.known() {
		fmt.Fprintf(b, "- machine %s: %s\n", l.letter(name), name)
	}
}

// known are all machines, in the order of their names.
func (l *latest) known() (names []string) {
	for _, run := range l.Runs {
		if len(run.Parts) == 0 {
			names = append(names, run.Machine)
		}
		for _, p := range run.Parts {
			names = append(names, p.Machine)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (l *latest) letter(machine string) string {
	return string(rune('A' + slices.Index(l.known(), machine)))
}

// byMachine puts the runs of each machine together, in the order of their dates.
func byMachine(parts []stage) (of [][]stage) {
	at := map[string]int{}
	for _, p := range slices.SortedStableFunc(slices.Values(parts), func(a, b stage) int { return strings.Compare(a.Date, b.Date) }) {
		i, known := at[p.Machine]
		if !known {
			i = len(of)
			at[p.Machine], of = i, append(of, nil)
		}
		of[i] = append(of[i], p)
	}
	return of
}

// runs is "1 run", "2 runs", and so on.
func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

func (l *latest) simulation(b *strings.Builder) {
	if !l.from(b, "simulation", "Simulated time") {
		return
	}
	fmt.Fprintf(b, "%s stories, %s operations, %s faults of %d kinds: **%d promises broken**.\n",
		thousands(l.Stories.Stories), thousands(total(l.Stories.Operations)), thousands(total(l.Stories.Faults)), len(l.Stories.Faults), len(l.Stories.Violations))
}

// total is the sum of what was counted.
func total(counted map[string]int) (n int) {
	for _, times := range counted {
		n += times
	}
	return n
}

// times is "once", "2 times", and so on.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return thousands(n) + " times"
}

// thousands is 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
