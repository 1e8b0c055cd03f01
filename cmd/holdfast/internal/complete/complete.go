// Package complete makes completion scripts for shells, and completes names.
package complete

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/look"
	"github.com/spf13/cobra"
)

// shells are those that there are completions for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// plainScripts and describedScripts write the script of a shell.
var (
	plainScripts = map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, false) },
		"zsh":        (*cobra.Command).GenZshCompletionNoDesc,
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, false) },
		"powershell": (*cobra.Command).GenPowerShellCompletion,
	}
	describedScripts = map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
)

// Command is 'holdfast completion'.
func Command(a *cli.App) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a completion script for a shell",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("completion wants one SHELL: %s", strings.Join(shells, ", "))
			}
			if !slices.Contains(shells, args[0]) {
				return cli.Usagef("no completions for %q; want %s", args[0], strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			scripts := describedScripts
			if plain {
				scripts = plainScripts
			}
			return scripts[args[0]](cmd.Root(), a.Stdout)
		},
	}
	cmd.Flags().BoolVar(&plain, "no-descriptions", false, "complete without descriptions")
	return cmd
}

const (
	completionTimeout = time.Second
	completionMost    = 500 // names; type a letter to see others
)

// completed is cobra's function for the completion of arguments.
type completed = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// Register gives each command that is about names what completes them, and each
// flag of a few words these.
func Register(a *cli.App, root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch {
		case cmd.ValidArgsFunction != nil || cmd.ValidArgs != nil || cmd.HasSubCommands():
		case strings.Contains(cmd.Use, " NAME"):
			cmd.ValidArgsFunction = completing(a, completeName)
		case strings.Contains(cmd.Use, "[PREFIX]"):
			cmd.ValidArgsFunction = completing(a, completePrefix)
		case !strings.Contains(cmd.Use, " ") || strings.Contains(cmd.Use, "[LEASE]"):
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, name := range []string{"output", "sort"} {
			if flag := cmd.Flags().Lookup(name); flag != nil {
				words := strings.Split(flag.Value.Type(), "|")
				mustComplete(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Flags().Lookup("tenure") != nil {
			mustComplete(cmd, "tenure", completing(a, completeTenure))
		}
	}
	mustComplete(root, "log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	for _, flag := range []string{"redis", "prefix", "owner"} {
		mustComplete(root, flag, cobra.NoFileCompletions)
	}
}

// completing is a function of ours as cobra calls it.
func completing(a *cli.App, with func(a *cli.App, cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)) completed {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return with(a, cmd, args, typed)
	}
}

func mustComplete(cmd *cobra.Command, flag string, with completed) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic("holdfast: " + err.Error())
	}
}

// completeName completes the first argument; a command, or nothing, follows it.
func completeName(a *cli.App, cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		if strings.Contains(cmd.Use, "COMMAND") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return namesInUse(a, cmd, typed), cobra.ShellCompDirectiveNoFileComp
}

func completePrefix(a *cli.App, cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, then := completeName(a, cmd, args, typed)
	return names, then | cobra.ShellCompDirectiveNoSpace
}

// namesInUse are the names of the last day that begin with what was typed.
func namesInUse(a *cli.App, cmd *cobra.Command, typed string) (names []string) {
	silently(a, cmd, func(ctx context.Context, client *connect.Session) {
		for name, err := range client.Admin.Names(ctx, typed) {
			if err != nil || len(names) == completionMost {
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

// completeTenure completes --tenure with the hash of the holder of NAME.
func completeTenure(a *cli.App, cmd *cobra.Command, args []string, _ string) (hashes []string, _ cobra.ShellCompDirective) {
	if len(args) == 1 {
		silently(a, cmd, func(ctx context.Context, client *connect.Session) {
			if state, err := client.Admin.Inspect(ctx, args[0]); err == nil && state.Holder != nil && state.Holder.Hash != "" {
				hashes = append(hashes, state.Holder.Hash+"\t"+look.HolderText(state, false, nil))
			}
		})
	}
	return hashes, cobra.ShellCompDirectiveNoFileComp
}

// silently asks the server for what a shell would complete: soon, or not at all,
// and without a word.
func silently(a *cli.App, cmd *cobra.Command, ask func(context.Context, *connect.Session)) {
	a.Quiet, a.Verbose, a.Stderr = true, false, io.Discard
	a.Console = console.NewLines(io.Discard)
	if a.FromEnvironment(cmd) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return
	}
	defer client.Close()
	ask(ctx, client)
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
