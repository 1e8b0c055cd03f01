package help

import (
	"embed"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/spf13/cobra"
)

// helpCommand prints everything about a command. An unknown command is an error: cobra's
// own would print the help of its parent.
func helpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND...]",
		Short:             "Show all flags and details of a command",
		ValidArgsFunction: completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchTopic(about, args, rest)
			}
			a.Page().Printf("%s", FullHelp(about))
			return nil
		},
	}
}

// completeTopic completes a page of help, or of the manual.
func completeTopic(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range about.Commands() {
			if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
				names = append(names, sub.Name()+"\t"+sub.Short)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func noSuchTopic(about *cobra.Command, args, rest []string) error {
	if about == nil {
		about, rest = &cobra.Command{}, args
	}
	similar := cli.Suggestions(about, rest[0])
	for _, sub := range about.Commands() { // cobra suggests no topics
		if sub.IsAdditionalHelpTopicCommand() && (strings.HasPrefix(sub.Name(), rest[0]) || strings.TrimSuffix(sub.Name(), "s") == rest[0]) {
			similar = append(similar, sub.Name())
		}
	}
	if len(similar) > 0 {
		return cli.Usagef("no help for %q: did you mean %s?", strings.Join(args, " "), strings.Join(slices.Compact(similar), " or "))
	}
	return cli.Usagef("no help for %q; 'holdfast help' lists all commands", strings.Join(args, " "))
}

// texts has a file for each command, named by its path: what 'holdfast help COMMAND' says
// of it, no wider than HelpWidth, and its examples after the line EXAMPLES. A line
// {{state}} stands for parts/state.txt, which several commands have in common.
//
//go:embed text
var texts embed.FS

var part = regexp.MustCompile(`(?m)^\{\{([a-z-]+)\}\}$`)

// describe gives cmd, and all commands below it, their texts.
func describe(cmd *cobra.Command) {
	if text := read(strings.ReplaceAll(TopicOf(cmd), " ", "-")); text != "" {
		cmd.Long, cmd.Example, _ = strings.Cut(text, "\n\nEXAMPLES\n")
	}
	for _, sub := range cmd.Commands() {
		describe(sub)
	}
}

// read is a text with its parts; empty: there is none, as for a hidden command.
func read(name string) string {
	text, err := texts.ReadFile("text/" + name + ".txt")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(part.ReplaceAllStringFunc(string(text), func(line string) string {
		return read("parts/" + strings.Trim(line, "{}"))
	}), "\n")
}
