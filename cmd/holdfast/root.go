package main

import (
	"context"
	"errors"
	"io"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/complete"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/spf13/cobra"
)

// execute is the whole program but for the process around it.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Console: console.NewLines(stderr)}
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.Printed
	}
	if err == nil {
		return 0
	}
	code := a.ExitCode(err)
	if e := (*cli.ExitError)(nil); errors.As(err, &e) && e.Err == nil {
		return code
	}
	a.Complain(a.Explain(err))
	if code == cli.ExitUsage {
		a.Complain("see '" + cmd.CommandPath() + " --help'")
	}
	return code
}

func rootCommand(a *cli.App) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "Locks across machines, with Redis or Valkey",
		Args:          cli.NoSuchCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return cli.PrintVersion(a)
			}
			return cmd.Help()
		},

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(cli.FlagError)
	root.Flags().BoolVar(&version, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.StringVar(&a.RedisURL, "redis", "", "server `URL` (default "+cli.DefaultURL+")")
	flags.StringVar(&a.Prefix, "prefix", "", "`TEXT` before each name in Redis, may be '' (default "+holdfast.DefaultPrefix+")")
	flags.StringVar(&a.Owner, "owner", "", "`LABEL` of this process, shown to others (default host:pid)")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "print errors only")
	flags.BoolVarP(&a.Verbose, "verbose", "v", false, "print each step: connected, granted, recalled, renewal failed")
	flags.Var(cli.NewChoice(&a.LogFormat, "text", "json"), "log-format", "format of messages on stderr")
	addCommands(a, root)
	for _, cmd := range root.Commands() {
		a.Begin(cmd)
	}
	root.AddCommand(cli.ExitCodesTopic())
	help.Set(a, root, groupTools)
	complete.Register(a, root)
	return root
}
