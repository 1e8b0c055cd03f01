package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
)

// The tables of exit codes in the documents are the one of the program.
func TestExitCodesInDocuments(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- exit codes: holdfast help exit-codes -->\n", "<!-- end of exit codes -->"
	found := 0
	for _, file := range []string{"../../docs/exit-codes.md", "../../docs/install.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(text), begin)
		if !ok {
			continue
		}
		found++
		got, _, _ := strings.Cut(rest, end)
		if want := exitCodesTable(); got != want {
			t.Errorf("%s has\n%s\nwant, between its two comments,\n%s", file, got, want)
		}
	}
	if found == 0 {
		t.Error("no document has the exit codes, want them in docs/exit-codes.md")
	}
}

// A code that the help of a command names is in the list, and the other way round
// the list has no code that no command can end with.
func TestExitCodesOfCommands(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"0": true}
	for _, m := range cli.ExitMeanings {
		for code := range strings.SplitSeq(m.Code, ", ") {
			known[code] = true
		}
	}
	var all []*cobra.Command
	for todo := rootCommand((&cli.App{Console: console.NewLines(io.Discard)})).Commands(); len(todo) > 0; todo = todo[1:] {
		all, todo = append(all, todo[0]), append(todo, todo[0].Commands()...)
	}
	line := regexp.MustCompile(`(?m)^ {2,5}(\d+)  \S`)
	documented := 0
	for _, cmd := range all {
		_, codes, _ := strings.Cut(cmd.Long, "\nEXIT CODES\n")
		for _, match := range line.FindAllStringSubmatch(codes, -1) {
			documented++
			if !known[match[1]] {
				t.Errorf("the help of %s has exit code %s, 'help exit-codes' does not", cmd.Name(), match[1])
			}
		}
	}
	if documented < 30 {
		t.Errorf("found %d exit codes in the help of the commands, want 30 or more", documented)
	}
	for _, code := range []int{cli.ExitUsage, cli.ExitUnreachable, cli.ExitSoftware, cli.ExitTempFail, cli.ExitProtocol, cli.ExitNoPerm, cli.ExitConfig, cli.ExitLost, cli.ExitMaxHold, cli.ExitNotExecutable, cli.ExitNotFound} {
		if word := cli.ExitWord(code); word == "signal" || word == "other" && code != cli.ExitSoftware {
			t.Errorf("exit code %d is called %q, want a word of its own", code, word)
		}
	}
	if got, want := cli.ExitWord(cli.ExitInterrupted), "signal"; got != want {
		t.Errorf("exit code %d is called %q, want %q", cli.ExitInterrupted, got, want)
	}
}

// exitCodesTable is the list of exit codes in Markdown.
func exitCodesTable() string {
	text := "| code | meaning |\n|---|---|\n"
	for _, m := range cli.ExitMeanings {
		text += fmt.Sprintf("| %s | %s |\n", m.Code, m.Meaning)
	}
	return text
}
