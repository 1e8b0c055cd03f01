// Package complete makes completion scripts for shells, and completes names.
package complete

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/spf13/cobra"
)

// shells are those that there are completions for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// scripts write the script of a shell.
var scripts = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"zsh":        (*cobra.Command).GenZshCompletion,
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
}

// Command is 'holdfast completion'.
func Command(a *cli.App) *cobra.Command {
	var cmd *cobra.Command
	known := strings.Join(shells, ", ")
	cmd = a.Command("completion SHELL", "Print a completion script for a shell", cli.Args(1, 1, "one SHELL: "+known), func(_ context.Context, args []string) error {
		write, ok := scripts[args[0]]
		if !ok {
			return cli.Usagef("no completions for %q; want %s", args[0], known)
		}
		return write(cmd.Root(), a.Stdout)
	})
	cmd.ValidArgs = shells
	return cmd
}

const (
	completionTimeout = time.Second
	maxCompletions    = 500 // names; type a letter to see others
)

// Register gives each command that is about names what completes them, and each
// flag of a few words these.
func Register(a *cli.App, root *cobra.Command) {
	c := completer{a}
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Name() == "jobs":
			cmd.ValidArgsFunction = c.job
			for _, forget := range cmd.Commands() {
				forget.ValidArgsFunction = c.job
			}
		case cmd.ValidArgsFunction != nil || cmd.ValidArgs != nil || cmd.HasSubCommands():
		case strings.Contains(cmd.Use, " NAME"):
			cmd.ValidArgsFunction = c.name
		case strings.Contains(cmd.Use, "[PREFIX]"):
			cmd.ValidArgsFunction = c.prefix
		case !strings.Contains(cmd.Use, " ") || strings.Contains(cmd.Use, "[LEASE]"):
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, name := range []string{"output", "sort", "details"} {
			if flag := cmd.Flags().Lookup(name); flag != nil {
				words := strings.Split(flag.Value.Type(), "|")
				mustComplete(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Flags().Lookup("tenure") != nil {
			mustComplete(cmd, "tenure", c.tenure)
		}
	}
	mustComplete(root, "log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	for _, flag := range []string{"redis", "prefix", "owner"} {
		mustComplete(root, flag, cobra.NoFileCompletions)
	}
}

func mustComplete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic("holdfast: " + err.Error())
	}
}

// completer completes what only the server knows.
type completer struct{ *cli.App }

// name completes the first argument; a command, or nothing, follows it.
func (c completer) name(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		if strings.Contains(cmd.Use, "COMMAND") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.namesInUse(cmd, typed), cobra.ShellCompDirectiveNoFileComp
}

func (c completer) prefix(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, then := c.name(cmd, args, typed)
	return names, then | cobra.ShellCompDirectiveNoSpace
}

// namesInUse are the names that begin with what was typed.
func (c completer) namesInUse(cmd *cobra.Command, typed string) (names []string) {
	c.silently(cmd, func(ctx context.Context, client *connect.Session) {
		for name, err := range client.Admin.Names(ctx, typed) {
			if err != nil || len(names) == maxCompletions {
				return
			}
			if oneWord(name) {
				names = append(names, name)
			}
		}
	})
	slices.Sort(names)
	return names
}

// job completes the name of a job.
func (c completer) job(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		c.silently(cmd, func(ctx context.Context, client *connect.Session) {
			jobs, _, _ := journal.Jobs(ctx, client.Store, c.Prefix)
			for _, j := range jobs {
				if strings.HasPrefix(j.Name, typed) && oneWord(j.Name) {
					names = append(names, j.Name)
				}
			}
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// tenure completes --tenure with the hash of the holder of NAME.
func (c completer) tenure(cmd *cobra.Command, args []string, _ string) (hashes []string, _ cobra.ShellCompDirective) {
	if len(args) == 1 {
		c.silently(cmd, func(ctx context.Context, client *connect.Session) {
			if state, err := client.Admin.Inspect(ctx, args[0]); err == nil && state.Holder != nil && state.Holder.Hash != "" {
				hashes = append(hashes, state.Holder.Hash+"\t"+inspect.HolderText(state, false, nil))
			}
		})
	}
	return hashes, cobra.ShellCompDirectiveNoFileComp
}

// silently asks the server for what a shell would complete: soon, or not at all,
// and without a word.
func (c completer) silently(cmd *cobra.Command, ask func(context.Context, *connect.Session)) {
	c.Quiet, c.Verbose, c.Stderr = true, false, io.Discard
	c.Console = console.NewLines(io.Discard)
	if c.FromEnvironment(cmd) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	_ = connect.On(ctx, c.App, func(client *connect.Session) error {
		ask(ctx, client)
		return nil
	})
}

// oneWord reports whether every shell takes a name for one word and nothing more.
// Any program may have put the name into Redis.
func oneWord(name string) bool {
	first := true
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		safe := unicode.IsLetter(r) || unicode.IsDigit(r) || !first && strings.ContainsRune("_.:/@+=%-", r)
		first = false
		return !safe
	})
}
