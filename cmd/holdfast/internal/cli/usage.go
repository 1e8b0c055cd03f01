package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoArgs is for commands that take nothing but flags.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// Args is for commands that take from least to most arguments: what is wanted, in words.
func Args(least, most int, wanted string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Usagef("%s wants %s, got %s", cmd.CommandPath(), wanted, console.Several(len(args), "argument"))
		}
		return nil
	}
}

var (
	// OneName is for commands about one name.
	OneName = Args(1, 1, "one NAME, in quotes if it has spaces")
	// MaybeOne is for commands that can be limited to what begins with a text.
	MaybeOne = Args(0, 1, "at most one PREFIX")
)

// NoSuchCommand is for the root, whose arguments are no command of ours.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if similar := Suggestions(cmd, args[0]); len(similar) > 0 {
		hint = ": did you mean " + strings.Join(similar, " or ") + "?"
	} else if cmd.ArgsLenAtDash() == 1 {
		hint = fmt.Sprintf(": did you mean 'holdfast run %s -- ...'?", args[0])
	}
	return Usagef("unknown command %q%s", args[0], hint)
}

// FlagError says in our words what is wrong with a flag.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		if cmd.Name() == "run" || cmd.Name() == "elect" {
			return Usagef("unknown flag %s%s; flags of COMMAND go after --", name, similarFlags(cmd, name))
		}
		return Usagef("unknown flag %s%s", name, similarFlags(cmd, name))
	case errors.As(err, &lacking):
		return Usagef("--%s wants %s", lacking.GetFlag().Name, cmp.Or(valueHint(lacking.GetFlag()), "a value"))
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		if hint := valueHint(flag); hint != "" {
			return Usagef("--%s %s: want %s", flag.Name, invalid.GetValue(), hint)
		}
		return Usagef("--%s %s: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
	}
	return Exit(ExitUsage, err)
}

// valueHint shows what a flag takes, where its type says too little.
func valueHint(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "duration":
		return "a duration such as 500ms, 30s, 5m or 1h30m"
	case "int":
		return "a whole number"
	case "bool":
		return "true or false"
	}
	return ""
}

// similarFlags asks whether a flag was meant that is spelled like name, or as a command
// is: two slips away at most, or the beginning of one.
func similarFlags(cmd *cobra.Command, name string) string {
	name, long := strings.CutPrefix(name, "--")
	if !long || len(name) < 2 {
		return ""
	}
	known := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				known.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
			}
		})
	}
	similar := known.SuggestionsFor(name)
	if len(similar) == 0 {
		return ""
	}
	return " (did you mean --" + strings.Join(similar, " or --") + "?)"
}

// Suggestions are the commands that are spelled almost like word. Two letters of
// three are too many to differ.
func Suggestions(cmd *cobra.Command, word string) []string {
	cmd.SuggestionsMinimumDistance = 2
	if len(word) <= 3 {
		cmd.SuggestionsMinimumDistance = 1
	}
	return cmd.SuggestionsFor(word)
}

// Choice is a flag that takes one of a few words.
type Choice struct {
	value *string
	words []string
}

// NewChoice sets value to the first word, the default.
func NewChoice(value *string, words ...string) *Choice {
	*value = words[0]
	return &Choice{value, words}
}

func (c *Choice) String() string { return *c.value }

// Type returns the words, as help shows them.
func (c *Choice) Type() string { return strings.Join(c.words, "|") }

// Set takes one of the words.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, " or "))
	}
	*c.value = word
	return nil
}
