package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/support/figures"
)

// below is where the page is made again; what stands above is written by hand.
const below = "<!-- made by go run ./test/faults/page from docs/verification/latest.json; edit what is above -->\n"

func (l *latest) writePage() error {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	above, _, _ := strings.Cut(string(text), below)
	var b strings.Builder
	b.WriteString(strings.TrimRight(above, "\n") + "\n\n" + below + "\n## What was run\n\n")
	for _, name := range l.machines() {
		fmt.Fprintf(&b, "- machine %s: %s\n", l.letter(name), name)
	}
	for _, write := range []func(*latest, *strings.Builder){
		writeHistories, writeContexts, writeControls, writePeers, writeSoak, writeStories, writeModels, writeGuards,
	} {
		write(l, &b)
	}
	return os.WriteFile(pageFile, []byte(b.String()), 0o644)
}

// from says how and where a part was found.
func (l *latest) from(b *strings.Builder, part, title string) bool {
	runs := l.of(part)
	switch len(runs) {
	case 0:
		return false
	case 1:
		fmt.Fprintf(b, "\n### %s\n\n`%s`, %s, machine %s\n\n", title, runs[0].Command, runs[0].Date, l.letter(runs[0].Machine))
		return true
	}
	fmt.Fprintf(b, "\n### %s\n\n%d runs. The command of each stands in [latest.json](verification/latest.json).\n\n", title, len(runs))
	for _, on := range byMachine(runs) {
		histories, seconds := 0, 0.0
		for _, r := range on {
			histories, seconds = histories+r.Histories, seconds+r.Seconds
		}
		count := fmt.Sprintf("%d runs", len(on))
		if len(on) == 1 {
			count = "1 run"
		}
		fmt.Fprintf(b, "- %s to %s, machine %s: %s, %s histories in %.0f s\n", on[0].Date, on[len(on)-1].Date, l.letter(on[0].Machine), count, thousands(histories), seconds)
	}
	b.WriteString("\n")
	return true
}

// machines are all that something was run on, in the order of their names.
func (l *latest) machines() (names []string) {
	for _, r := range l.Runs {
		names = append(names, r.Machine)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// letter is what the page calls a machine.
func (l *latest) letter(machine string) string {
	return string(rune('A' + slices.Index(l.machines(), machine)))
}

// byMachine puts the runs of each machine together, in the order of their dates.
func byMachine(runs []run) (of [][]run) {
	at := map[string]int{}
	for _, r := range slices.SortedStableFunc(slices.Values(runs), func(a, b run) int { return strings.Compare(a.Date, b.Date) }) {
		i, known := at[r.Machine]
		if !known {
			i = len(of)
			at[r.Machine], of = i, append(of, nil)
		}
		of[i] = append(of[i], r)
	}
	return of
}

// times is "once", "2 times", and so on.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return thousands(n) + " times"
}

func thousands(n int) string { return figures.Thousands(n) }
