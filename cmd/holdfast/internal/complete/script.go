// Package complete makes completion scripts for shells, and completes names.
package complete

import (
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/spf13/cobra"
)

// shells are those that there are completions for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

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
			if shellScript(args[0]) == nil {
				return cli.Usagef("no completions for %q; want %s", args[0], strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return shellScript(args[0])(cmd.Root(), a.Stdout, !plain)
		},
	}
	cmd.Flags().BoolVar(&plain, "no-descriptions", false, "complete without descriptions")
	return cmd
}

// shellScript writes the script of a shell, or is nil where there is none.
func shellScript(shell string) func(root *cobra.Command, w io.Writer, described bool) error {
	switch shell {
	case "bash":
		return (*cobra.Command).GenBashCompletionV2
	case "fish":
		return (*cobra.Command).GenFishCompletion
	case "zsh":
		return func(root *cobra.Command, w io.Writer, described bool) error {
			if described {
				return root.GenZshCompletion(w)
			}
			return root.GenZshCompletionNoDesc(w)
		}
	case "powershell":
		return func(root *cobra.Command, w io.Writer, described bool) error {
			if described {
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return root.GenPowerShellCompletion(w)
		}
	}
	return nil
}
