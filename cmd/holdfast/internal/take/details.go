package take

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/pflag"
)

// Details are the flags for what others see of this process.
type Details struct {
	Note   string
	Expect time.Duration // 0: unknown

	stored string // program, command or none
}

// ExpectFlag gives a command that is not an election the flag --expect.
func (d *Details) ExpectFlag(flags *pflag.FlagSet) {
	flags.DurationVar(&d.Expect, "expect", 0, "how long the lock will be held at most; after that it is a problem (held-long)")
}

// Flags gives a command the flags --note and --details.
func (d *Details) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&d.Note, "note", "", "`TEXT` for 'holdfast show': a ticket, a team, a log")
	flags.Var(cli.NewChoice(&d.stored, "program", "command", "none"), "details", "`WHAT` to store for 'holdfast show': program, command (with all arguments) or none")
}

// None reports whether nothing is stored of this process and its note.
func (d *Details) None() bool { return d.stored == "none" }

// Of are the details while argv runs; nil: none.
func (d *Details) Of(argv []string) *holdfast.Details {
	details := holdfast.ProcessDetails()
	if d.None() {
		if details.Parent == "" && d.Expect == 0 {
			return nil
		}
		return &holdfast.Details{Parent: details.Parent, Within: details.Within, Expect: d.Expect}
	}
	details.Command, details.Note, details.Expect = programText(argv), d.Note, d.Expect
	if d.stored == "command" {
		details.Command = commandText(argv)
	}
	return details
}

// programText returns a text such as "backup.sh and 3 arguments". It shows no argument, because
// any of them can be a secret.
func programText(argv []string) string {
	program := filepath.Base(argv[0])
	if len(argv) == 1 {
		return program
	}
	return program + " and " + console.Several(len(argv)-1, "argument")
}

// commandText returns argv as people write it in a shell.
func commandText(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words[i] = arg
	}
	return strings.Join(words, " ")
}
