package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
)

// Exit codes. 64 to 78 are those of sysexits.h, 126 and 127 those of the shell.
const (
	ExitProblems      = 1   // of a list of problems: there are some
	ExitUsage         = 64  // the command line is wrong, or the URL does not fit the server
	ExitUnreachable   = 69  // no answer from the server
	ExitSoftware      = 70  // anything else that went wrong
	ExitTempFail      = 75  // the name is held, or by another than was meant, or a quorum has no majority: try later
	ExitProtocol      = 76  // another version of holdfast uses the name: update this one
	ExitNoPerm        = 77  // the server refused: password, user or rights
	ExitConfig        = 78  // a file that a flag names can't be read or written, or holds something else
	ExitLost          = 122 // the lease was lost while the command ran
	ExitMaxHold       = 124 // the command was stopped at --max-hold, as timeout(1) has it
	ExitNotExecutable = 126
	ExitNotFound      = 127
	ExitInterrupted   = 130 // ctrl-C
)

// ExitError ends the process with code. A nil err prints nothing: the command
// has said what there is to say.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Exit is an error that ends the process with code, see ExitError.
func Exit(code int, err error) error { return &ExitError{code, err} }

// CodeOf returns the exit code that err carries, or 0.
func CodeOf(err error) int {
	if coded, ok := errors.AsType[*ExitError](err); ok {
		return coded.Code
	}
	return 0
}

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error {
	return Exit(ExitUsage, fmt.Errorf(format, args...))
}

// Denied reports whether a server's error is about rights.
func Denied(answer string) bool {
	// The last two are what servers before 7.2, and since, say from within a script.
	return ContainsAny(answer, "NOPERM", "NOAUTH", "WRONGPASS", "The user executing the script can't", "ACL failure in script")
}

// ContainsAny reports whether one of the words is in text.
func ContainsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// Reason is why the store failed, without the library's own words around it:
// those say what that means for a program.
func Reason(err error) string {
	var several interface{ Unwrap() []error }
	for errors.As(err, &several) && len(several.Unwrap()) > 0 {
		causes := several.Unwrap()
		err = causes[len(causes)-1]
	}
	return inScript.ReplaceAllString(strings.TrimPrefix(err.Error(), "holdfast: "), "")
}

// inScript matches the place of an error in a script, which servers add to its text.
var inScript = regexp.MustCompile(`\.? script: [0-9a-f]{40}, on @user_script:\d+\.$`)

// Why is reason, and in words what a context says.
func Why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return Reason(err)
}

// exitMeaning is what one exit code means, for all commands.
type exitMeaning struct {
	Code    string
	word    string // for programs, as in --status-file
	Meaning string
}

// ExitMeanings is the only list of them: 'holdfast help exit-codes', the manual
// page and the tables of the documents are made of it.
var ExitMeanings = []exitMeaning{
	{"0", "", "success; of run and elect: the command ended with 0"},
	{"1", "", "of doctor: a warning; of audit: refuted; of ls and jobs with --problems: a problem; of run and elect: the command's own"},
	{"2", "", "of doctor: a failure; of audit: not proved; of run and elect: the command's own"},
	{"64", "usage", "the command line or a variable is wrong, the URL does not fit the server, or the name has another kind or another schedule (--every)"},
	{"69", "unreachable", "the server is unreachable or cannot serve now (OOM, READONLY), or too few replicas answered: unknown whether the name is held"},
	{"70", "other", "another error; the message says which"},
	{"75", "busy", "the name is held (-n, -w), its tick has begun (--every), or HASH is not its holder (--steal): -E changes this code; of revoke and steal: HASH is not the holder; of quorum status: a majority does not vote"},
	{"76", "version", "another version of holdfast uses the name: update this one"},
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
const ExitCodesIntro = `Each command ends with one of these codes. 64 to 78 are from sysexits.h, 124 is
from timeout(1), 126 and higher are those of a shell. 'run' and 'elect' end with
the code of their command unless holdfast has an error of its own. To find out
where a code came from, use 'run --status-file': its field code_of says
"command" or "holdfast".

`

// ExitCodesText is the list as columns.
func ExitCodesText() string {
	var b strings.Builder
	for _, m := range ExitMeanings {
		lines := console.Wrapped(m.Meaning, 66)
		fmt.Fprintf(&b, "  %9s  %s\n", m.Code, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "  %9s  %s\n", "", line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
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
