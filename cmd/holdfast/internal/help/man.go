package help

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManCommand is 'holdfast man'.
func ManCommand(a *cli.App) *cobra.Command {
	var dir string
	var cmd *cobra.Command
	cmd = a.Command("man [COMMAND...]", "Print a manual page, or write all of them", nil, func(_ context.Context, args []string) error {
		about, rest, err := cmd.Root().Find(args)
		switch {
		case err != nil || len(rest) > 0:
			return noSuchTopic(about, args, rest)
		case dir != "" && len(args) > 0:
			return cli.Usagef("--dir writes the pages of all commands; leave out %q", strings.Join(args, " "))
		case dir != "":
			return writeManPages(cmd.Root(), dir)
		}
		_, err = fmt.Fprint(a.Stdout, manPage(about))
		return err
	})
	cmd.ValidArgsFunction = completeTopic
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands to `DIR`")
	return cmd
}

// writeManPages writes the pages of cmd and all below it. A directory that is not
// there is a mistake more often than a wish.
func writeManPages(cmd *cobra.Command, dir string) error {
	file := filepath.Join(dir, manName(cmd)+".1")
	if err := os.WriteFile(file, []byte(manPage(cmd)), 0o644); err != nil {
		return cli.Exit(cli.ExitConfig, err)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			if err := writeManPages(sub, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of cmd for man(7). It says no date, so that one source makes
// one page. Package doc of cobra makes worse pages. It writes a switch as --all[=false],
// and drops what a flag takes (text|json|name). It has no list of commands, no variables
// and no exit codes. It reads Long as Markdown, so headings and tables become paragraphs.
func manPage(cmd *cobra.Command) string {
	var p page
	p.request(".TH", strings.ToUpper(manName(cmd)), "1", "", "holdfast "+cli.ThisBuild().Version, "holdfast")
	p.section("NAME")
	p.text(manName(cmd) + ` - ` + strings.ToLower(cmd.Short[:1]) + cmd.Short[1:])
	p.section("SYNOPSIS")
	p.line(`.B ` + roff(usageLine(cmd)))
	if cmd.HasAvailableSubCommands() && !strings.Contains(usageLine(cmd), " COMMAND") {
		p.request(".br")
		p.line(`.B ` + roff(cmd.CommandPath()+" COMMAND [flags]"))
	}
	p.section("DESCRIPTION")
	brief := firstParagraph(cmd.Long)
	p.text(brief)
	p.commands(cmd)
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.text(strings.TrimPrefix(cmd.Long, brief))
	p.flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Runnable() && cmd.HasParent() && cmd.Name() != "help" {
		p.section("ENVIRONMENT")
		p.text(variablesHelp(cmd))
	}
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.text(cmd.Example)
	}
	if !strings.Contains(cmd.Long, "\nEXIT CODES\n") {
		p.section("EXIT CODES")
		p.text(cli.ExitCodesIntro + cli.ExitCodesText())
	}
	p.section("SEE ALSO")
	p.text(seeAlso(cmd))
	return p.String()
}

func seeAlso(cmd *cobra.Command) string {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, manName(cmd.Parent())+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			pages = append(pages, manName(sub)+"(1)")
		}
	}
	return strings.Join(pages, ", ")
}

// page is a manual page in the making.
type page struct{ strings.Builder }

func (p *page) line(text string) { p.WriteString(text + "\n") }

// request writes a request with its arguments in quotes.
func (p *page) request(name string, args ...string) {
	p.WriteString(name)
	for _, arg := range args {
		p.WriteString(` "` + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + `"`)
	}
	p.WriteString("\n")
}

func (p *page) section(title string) { p.request(".SH", title) }

// text writes paragraphs, and a section for each heading. Indented lines keep their
// line ends.
func (p *page) text(text string) {
	literal := false
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if indented := strings.HasPrefix(line, " "); line != "" && indented != literal {
			literal = indented
			p.line(map[bool]string{true: ".nf", false: ".fi"}[literal])
		}
		switch {
		case heading.MatchString(line):
			p.section(line)
		case line == "":
			p.line(".PP")
		default:
			p.line(roff(line))
		}
	}
	if literal {
		p.line(".fi")
	}
}

func (p *page) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.section("COMMANDS")
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			p.line(".TP")
			p.line(`\fB` + roff(sub.Name()) + `\fR`)
			p.line(roff(sub.Short))
		}
	}
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		names := `\fB` + roff("--"+flag.Name) + `\fR`
		if flag.Shorthand != "" {
			names = `\fB` + roff("-"+flag.Shorthand) + `\fR, ` + names
		}
		value, usage := flagUsage(flag)
		if value != "" {
			names += ` \fI` + roff(value) + `\fR`
		}
		p.line(".TP")
		p.line(names)
		if d := flagDefault(flag); d != "" {
			usage += " (default " + d + ")"
		}
		p.line(roff(usage))
	})
}

// roff is text without what roff would take for its own.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
