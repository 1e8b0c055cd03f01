package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noArgs is for commands that take nothing but flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneName is for commands about one name.
func oneName(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("%s wants a NAME", cmd.CommandPath())
	case 1:
		return nil
	}
	return usagef("%s wants one NAME, got %d; quote a name with spaces", cmd.CommandPath(), len(args))
}

// maybeOne is for commands that can be limited to what begins with a text.
func maybeOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one PREFIX, got %d", cmd.CommandPath(), len(args))
	}
	return nil
}

// noSuchCommand is for the root, whose arguments are no command of ours.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if similar := suggestions(cmd, args[0]); len(similar) > 0 {
		hint = ": did you mean " + strings.Join(similar, " or ") + "?"
	} else if cmd.ArgsLenAtDash() == 1 {
		hint = fmt.Sprintf(": did you mean 'holdfast run %s -- ...'?", args[0])
	}
	return usagef("unknown command %q%s", args[0], hint)
}

// flagError says in our words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
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
			return usagef("unknown flag %s%s; flags of COMMAND go after --", name, similarFlags(cmd, name))
		}
		return usagef("unknown flag %s%s", name, similarFlags(cmd, name))
	case errors.As(err, &lacking):
		return usagef("--%s wants %s", lacking.GetFlag().Name, cmp.Or(valueHint(lacking.GetFlag()), "a value"))
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		if hint := valueHint(flag); hint != "" {
			return usagef("--%s %s: want %s", flag.Name, invalid.GetValue(), hint)
		}
		return usagef("--%s %s: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
	}
	return exitWith(exitUsage, err)
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

// suggestions are the commands that are spelled almost like word. Two letters of
// three are too many to differ.
func suggestions(cmd *cobra.Command, word string) []string {
	cmd.SuggestionsMinimumDistance = 2
	if len(word) <= 3 {
		cmd.SuggestionsMinimumDistance = 1
	}
	return cmd.SuggestionsFor(word)
}
