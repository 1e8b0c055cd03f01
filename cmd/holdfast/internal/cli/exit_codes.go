package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
)

// exitMeaning is what one exit code means, for all commands.
type exitMeaning struct {
	Code    string
	word    string // for programs, as in --status-file
	meaning string
}

// ExitMeanings is the only list of them: 'holdfast help exit-codes', the manual
// page and the tables of the documents are made of it.
var ExitMeanings = []exitMeaning{
	{"0", "", "success; of run and elect: the command ended with 0"},
	{"1", "", "of doctor: a warning; of audit: refuted; of run and elect: the command's own"},
	{"2", "", "of doctor: a failure; of audit: not proved; of run and elect: the command's own"},
	{"64", "usage", "the command line or a variable is wrong, the URL does not fit the server, or the name has another kind or another schedule (--every)"},
	{"69", "unreachable", "the server is unreachable or cannot serve now (OOM, READONLY), or too few replicas answered: unknown whether the name is held"},
	{"70", "other", "another error; the message says which"},
	{"75", "busy", "the name is held (-n, -w), its tick has begun (--every), or HASH is not its holder (--steal): -E changes this code; of revoke and steal: HASH is not the holder; of quorum status: a majority does not vote"},
	{"77", "refused", "the server refused: password, user or rights"},
	{"78", "config", "a file that a flag names cannot be read or written, or has the wrong content"},
	{"122", "lost", "the lease was lost, revoked or stolen, even if the command's own code was 0"},
	{"124", "max-hold", "the command was stopped at --max-hold, as by timeout(1)"},
	{"126", "not-executable", "the command cannot be executed"},
	{"127", "not-found", "the command was not found"},
	{"128+n", "signal", "signal n ended the wait, or the command: 130 ctrl-C, 143 TERM"},
	{"any other", "", "of run and elect: the command's own"},
}

// ExitCodesIntro comes before the list.
const ExitCodesIntro = `Each command ends with one of these codes. 64 to 78 are from sysexits.h, 124 is from
timeout(1), 126 and higher are those of a shell. 'run' and 'elect' end with the code of
their command unless holdfast has an error of its own. To find out where a code came
from, use 'run --status-file': its field code_of says "command" or "holdfast".

`

// ExitCodesText is the list as columns.
func ExitCodesText() string {
	var b strings.Builder
	for _, m := range ExitMeanings {
		lines := console.Wrapped(m.meaning, 66)
		fmt.Fprintf(&b, "  %9s  %s\n", m.Code, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "  %9s  %s\n", "", line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// ExitCodesTable is the list in Markdown.
func ExitCodesTable() string {
	var b strings.Builder
	b.WriteString("| code | meaning |\n|---|---|\n")
	for _, m := range ExitMeanings {
		fmt.Fprintf(&b, "| %s | %s |\n", m.Code, m.meaning)
	}
	return b.String()
}

// ExitWord is the word for a code of holdfast's own.
func ExitWord(code int) string {
	for _, m := range ExitMeanings {
		if m.Code == fmt.Sprint(code) && m.word != "" {
			return m.word
		}
	}
	if code > 128 {
		return "signal"
	}
	return "other"
}

// ExitCodesTopic is a page of help, and no command.
func ExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Exit codes of all commands",
		Long:  ExitCodesIntro + ExitCodesText(),
	}
}
