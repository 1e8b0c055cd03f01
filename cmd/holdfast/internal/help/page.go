// Package help prints the help of commands in two lengths, and as pages of the manual.
package help

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The help of a command has two lengths. 'holdfast run --help' is one screen: the first
// paragraph of Long, the first block of Example, and the flags used most.
// 'holdfast help run' is everything. A manual page has the same text as that.
const (
	HelpWidth  = 80
	HelpHeight = 40

	MostUsed = "most used flags" // the annotation that names them; without it all are shown
)

// heading is a line of Long that begins a section.
var heading = regexp.MustCompile(`^[A-Z][A-Z -]+$`)

// Set gives all commands below root their two lengths of help.
func Set(a *cli.App, root *cobra.Command, group string) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.Page().Printf("%s", ShortHelp(cmd)) })
	helper := helpCommand(a)
	describe(root)
	describe(helper)
	root.SetHelpCommand(helper)
	root.SetHelpCommandGroupID(group)
}

// ShortHelp is one screen.
func ShortHelp(cmd *cobra.Command) string {
	if !cmd.Runnable() { // a page of help, and no command
		return FullHelp(cmd)
	}
	var p helpPage
	p.text(firstParagraph(cmd.Long))
	p.section("Usage:", "  "+usageLine(cmd))
	p.section("Examples:", firstParagraph(cmd.Example))
	p.text(commandList(cmd))
	if !cmd.HasParent() {
		p.section("Flags of all commands:", usages(cmd.LocalFlags()))
		p.text("Exit codes: holdfast help exit-codes\nAll flags and details: holdfast help COMMAND")
		return p.String()
	}
	flags, title := cmd.NonInheritedFlags(), "Flags:"
	if names := strings.Fields(cmd.Annotations[MostUsed]); len(names) > 0 {
		flags, title = selected(flags, names), "Flags used most:"
	}
	p.section(title, usages(flags))
	common := "Common flags: " + strings.Join(flagNames(cmd.InheritedFlags()), ", ")
	p.text(strings.Join(console.Wrapped(common, HelpWidth), "\n") +
		"\nAll flags and details: holdfast help " + TopicOf(cmd))
	return p.String()
}

// FullHelp is everything.
func FullHelp(cmd *cobra.Command) string {
	if !cmd.Runnable() {
		return cmd.Long + "\n"
	}
	var p helpPage
	brief := firstParagraph(cmd.Long)
	p.text(brief)
	p.section("USAGE", "  "+usageLine(cmd))
	p.section("EXAMPLES", cmd.Example)
	p.text(commandList(cmd))
	p.section("FLAGS", usages(cmd.NonInheritedFlags()))
	p.text(strings.TrimPrefix(cmd.Long, brief))
	if cmd.HasParent() {
		p.section("FLAGS OF ALL COMMANDS", usages(cmd.InheritedFlags()))
		p.section("ENVIRONMENT", variablesHelp(cmd))
	}
	if !strings.Contains(cmd.Long, "\nEXIT CODES\n") {
		p.section("EXIT CODES", "See 'holdfast help exit-codes'.")
	}
	return p.String()
}

// helpPage is a text of blocks with an empty line between them.
type helpPage struct{ strings.Builder }

func (p *helpPage) text(block string) {
	block = strings.Trim(block, "\n")
	if block == "" {
		return
	}
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	p.WriteString(block + "\n")
}

// section is a block under a title, or nothing where it is empty.
func (p *helpPage) section(title, block string) {
	if block = strings.Trim(block, "\n"); block != "" {
		p.text(title + "\n" + block)
	}
}

func usageLine(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "holdfast COMMAND [flags]"
	}
	return cmd.UseLine()
}

// commandList is the commands below cmd, a line for each, in their groups.
func commandList(cmd *cobra.Command) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	var p helpPage
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		var block string
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				block += "  " + console.Padded(sub.Name(), 10) + "  " + sub.Short + "\n"
			}
		}
		p.section(group.Title, block)
	}
	return p.String()
}

// TopicOf is what 'holdfast help' calls cmd.
func TopicOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// firstParagraph is text up to its first empty line.
func firstParagraph(text string) string {
	first, _, _ := strings.Cut(strings.Trim(text, "\n"), "\n\n")
	return first
}

// usages are flags, a line or more for each, no wider than a screen.
func usages(flags *pflag.FlagSet) string {
	var rows [][2]string
	width := 0
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		value, usage := flagUsage(flag)
		name := "      --" + flag.Name
		if flag.Shorthand != "" {
			name = "  -" + flag.Shorthand + ", --" + flag.Name
		}
		if value != "" {
			name += " " + value
		}
		if d := flagDefault(flag); d != "" {
			usage += " (default " + d + ")"
		}
		rows, width = append(rows, [2]string{name, usage}), max(width, len(name))
	})
	var b strings.Builder
	for _, row := range rows {
		for i, line := range console.Wrapped(row[1], HelpWidth-width-3) {
			if i > 0 {
				row[0] = ""
			}
			b.WriteString(console.Padded(row[0], width) + "   " + line + "\n")
		}
	}
	return b.String()
}

// flagUsage is what a flag takes, in capitals in backquotes in its text, and its text.
func flagUsage(flag *pflag.Flag) (value, usage string) {
	value, usage = pflag.UnquoteUsage(flag)
	if strings.Contains(flag.Usage, "`") && value != "URL" && len(value) > 1 {
		usage = strings.Replace(usage, value, strings.ToLower(value), 1)
	}
	return value, usage
}

// flagDefault is the default worth a word.
func flagDefault(flag *pflag.Flag) string {
	switch d := flag.DefValue; {
	case d == "false", d == "0", d == "0s", d == "[]":
		return ""
	case flag.Value.Type() == "duration":
		return strings.TrimSuffix(strings.Replace(d, "m0s", "m", 1), "0m")
	default:
		return d
	}
}

// selected is the named ones of flags, in that order.
func selected(flags *pflag.FlagSet, names []string) *pflag.FlagSet {
	some := &pflag.FlagSet{SortFlags: false}
	for _, name := range names {
		some.AddFlag(flags.Lookup(name))
	}
	return some
}

func flagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// variablesHelp says how to set a command's flags by variables.
func variablesHelp(cmd *cobra.Command) string {
	var not []string
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(cli.Settings, flag.Name) && !flag.Hidden && flag.Name != "help" {
			not = append(not, "--"+flag.Name)
		}
	})
	text := "HOLDFAST_REDIS_URL or REDIS_URL sets --redis. HOLDFAST_LOG_FORMAT=json sets --log-format json, and so on for each other flag"
	if len(not) > 0 {
		text += " except " + strings.Join(not, ", ")
	}
	return strings.Join(console.Wrapped(text+". A flag on the command line takes precedence.", HelpWidth), "\n")
}
