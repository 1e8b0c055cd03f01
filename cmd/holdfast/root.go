package main

import (
	"context"
	"errors"
	"io"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/spf13/cobra"
)

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, console: newConsole(stderr)}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.printed
	}
	if err == nil {
		return 0
	}
	code := a.exitCode(err)
	if e := (*exitError)(nil); errors.As(err, &e) && e.err == nil {
		return code
	}
	a.complain(a.explain(err))
	if code == exitUsage {
		a.complain("see '" + cmd.CommandPath() + " --help'")
	}
	return code
}

func (a *app) rootCommand() *cobra.Command {
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
URL is HOLDFAST_REDIS_URL, else REDIS_URL, else ` + defaultURL + `.

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
		Args:          noSuchCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.printVersion()
			}
			return cmd.Help()
		},

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(flagError)
	root.Flags().BoolVar(&version, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.StringVar(&a.redisURL, "redis", "", "server `URL` (default "+defaultURL+")")
	flags.StringVar(&a.prefix, "prefix", "", "`TEXT` before each name in Redis, may be '' (default "+holdfast.DefaultPrefix+")")
	flags.StringVar(&a.owner, "owner", "", "`LABEL` of this process, shown to others (default host:pid)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print errors only")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "print each step: connected, granted, recalled, renewal failed")
	flags.Var(newChoice(&a.logFormat, "text", "json"), "log-format", "format of messages on stderr")
	a.addCommands(root)
	for _, cmd := range root.Commands() {
		a.begin(cmd)
	}
	root.AddCommand(exitCodesTopic())
	a.setHelp(root, groupTools)
	a.completions(root)
	return root
}
