package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exitMeaning is what one exit code says, everywhere.
type exitMeaning struct {
	code    string
	word    string // for programs, as in --status-file
	meaning string
}

// exitMeanings is the only list of them: 'holdfast help exit-codes', the manual
// page and the tables of the documents are made of it.
var exitMeanings = []exitMeaning{
	{"0", "", "done; of run, the command ended with 0"},
	{"1, 2", "", "of doctor: a warning, a failure; of audit: refuted, not proved; of run, the command's own"},
	{"64", "usage", "the command line or a variable is wrong, the URL does not fit the server, or the name is another kind of lock"},
	{"69", "unreachable", "no answer from the server, or too few replicas: whether anybody holds the name is not known"},
	{"70", "other", "something else went wrong; it was said what"},
	{"75", "busy", "somebody holds the name (-n, -w; see --busy-code), or another than was meant; of quorum status, no majority votes: try later"},
	{"77", "refused", "the server refused: password, user or rights"},
	{"78", "config", "a file that a flag names cannot be read or written, or holds something else"},
	{"122", "lost", "the lease was lost, revoked or stolen, whatever the command's own code was"},
	{"124", "max-hold", "the command was stopped at --max-hold, as by timeout(1)"},
	{"126", "not-executable", "the command can't be run"},
	{"127", "not-found", "the command was not found"},
	{"128+n", "signal", "signal n ended the wait, or the command: 130 ctrl-C, 143 TERM"},
	{"any other", "", "of run and elect: the command's own"},
}

const exitCodesIntro = `Every command of holdfast ends with one of these codes. Those from 64 to 78 are of
sysexits.h, 124 is that of timeout(1), 126 and more are those of the shell. 'run' and
'elect' end with the code of what they ran wherever there is nothing worse to say;
'run --status-file' tells whose code it was.

`

// exitCodesText is the list as columns.
func exitCodesText() string {
	var b strings.Builder
	for _, m := range exitMeanings {
		lines := wrapped(m.meaning, 66)
		fmt.Fprintf(&b, "  %9s  %s\n", m.code, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "  %9s  %s\n", "", line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// exitCodesTable is the list in Markdown.
func exitCodesTable() string {
	var b strings.Builder
	b.WriteString("| code | meaning |\n|---|---|\n")
	for _, m := range exitMeanings {
		fmt.Fprintf(&b, "| %s | %s |\n", m.code, m.meaning)
	}
	return b.String()
}

// exitWord is the word for a code of holdfast's own.
func exitWord(code int) string {
	for _, m := range exitMeanings {
		if m.code == fmt.Sprint(code) && m.word != "" {
			return m.word
		}
	}
	if code > 128 {
		return "signal"
	}
	return "other"
}

// exitCodesTopic is a page of help, and no command.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean, of every command",
		Long:  exitCodesIntro + exitCodesText(),
	}
}

// wrapped cuts text into lines of at most width runes, between words.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
