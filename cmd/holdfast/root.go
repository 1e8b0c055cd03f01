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
		Use:   "holdfast",
		Short: "Locks across machines, with Redis or Valkey",
		Long: `Locks across machines, with Redis or Valkey. Waiters are served in order, and each
lease has a fencing token that the resource can check.

THE LIMIT OF A LOCK
A lease ends by its ttl. A process that was paused can write after its lease has
ended. Give the fencing token to the resource, and let the resource refuse a lower
token than the highest it has seen.

SERVER
--redis takes redis://, valkey://, unix://, sentinel:// and cluster:// URLs. For
TLS add an s: rediss://, valkeys://, sentinels://, clusters://. Without --redis the
URL is HOLDFAST_REDIS_URL, else REDIS_URL, else ` + cli.DefaultURL + `.

OUTPUT
Data goes to stdout, messages go to stderr. Colours are used on a terminal only, and
never when NO_COLOR is set.

ENVIRONMENT
Most flags have a variable: HOLDFAST_LOG_FORMAT=json sets --log-format json. A flag
on the command line takes precedence. 'holdfast help COMMAND' lists the exceptions.`,
		Example: `  holdfast demo                       see what goes wrong without a lock
  holdfast run nightly -- ./backup    run a command while holding a lock
  holdfast ls                         list the locks that are held

  holdfast dev                        start a server for tests
  holdfast elect boss -- ./boss       keep one instance running on many machines
  holdfast show nightly               show the holder and the waiters
  holdfast top                        show all locks, updated every 2 s
  holdfast doctor                     check whether the server is fit for locks`,
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
