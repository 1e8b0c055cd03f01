package main

import (
	"context"
	"errors"
	"io"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/audit"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/bench"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/complete"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/demo"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/elect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/lease"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/operate"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/run"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/serve"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/show"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/top"
	"github.com/spf13/cobra"
)

// execute is the whole program without the process around it.
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
	flags.StringVar(&a.PasswordFile.Path, "redis-password-file", "", "`FILE` with the password for a URL without one")
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

// The help lists commands in the order of addCommands.
func init() { cobra.EnableCommandSorting = false }

const groupTools = "tools"

// addCommands gives root all its commands, in groups.
func addCommands(a *cli.App, root *cobra.Command) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"jobs", "Run commands:", []*cobra.Command{run.Command(a), elect.Command(a), show.JobsCommand(a)}},
		{"locks", "Inspect locks:", []*cobra.Command{
			show.LsCommand(a), show.Command(a), top.Command(a), show.WatchCommand(a), show.HistoryCommand(a), audit.Command(a),
		}},
		{"operators", "Change locks:", []*cobra.Command{operate.RevokeCommand(a), operate.StealCommand(a), operate.ResizeCommand(a)}},
		{"leases", "Leases for scripts:", []*cobra.Command{
			lease.AcquireCommand(a), lease.RenewCommand(a), lease.CheckCommand(a), lease.ReleaseCommand(a),
		}},
		{"servers", "Servers:", []*cobra.Command{
			doctor.Command(a), bench.Command(a), quorum.Command(a), serve.Command(a), dev.Command(a), scripts.Command(a),
		}},
		{groupTools, "Tools:", []*cobra.Command{
			demo.Command(a), cli.VersionCommand(a), complete.Command(a), help.ManCommand(a),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
}
