package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/spf13/cobra"
)

// app is one run of the program: where it reads and writes, and the values of the flags
// that all commands share. The fields are final when a command's RunE is called, which is
// after the environment was read.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	console        *console // stderr, for what we say ourselves

	redisURL  string // never printed: it may hold a password
	prefix    string // as Options.Prefix wants it: "" is the default, NoPrefix is none
	owner     string
	output    string // text or json
	logFormat string // text or json
	quiet     bool
	verbose   bool

	byVariable  map[string]bool // flags that a variable has set
	urlVariable string          // the one that redisURL is from; empty: none

	printed error // the first of page; nil: all was printed

	busy    bool // it ends because the name is held, with any code
	started bool // a RunE was reached: the command line was right
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, console: &console{w: stderr}}
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
	a.setHelp(root)
	a.completions(root)
	return root
}

// begin reads the environment before cmd's own work. The exit code of an error depends on
// whether the work has begun.
func (a *app) begin(cmd *cobra.Command) {
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.fromEnvironment(cmd); err != nil {
			return err
		}
		a.started = true
		return a.namingVariables(work(cmd, args))
	}
}

// logger is what the library logs to: stderr, in the form the flags ask for.
func (a *app) logger() slog.Handler {
	level := slog.LevelWarn
	switch {
	case a.quiet:
		level = slog.LevelError
	case a.verbose:
		level = slog.LevelDebug
	}
	if a.logFormat == "json" {
		return slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: level})
	}
	return newTalk(a.console, level)
}

// say talks to people on stderr, unless they asked for quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.tell(slog.LevelInfo, fmt.Sprintf(format, args...))
	}
}

// detail prints a message with --verbose.
func (a *app) detail(format string, args ...any) {
	if a.verbose && !a.quiet {
		a.tell(slog.LevelDebug, fmt.Sprintf(format, args...))
	}
}

// complain prints an error, with any flags.
func (a *app) complain(text string) {
	a.tell(slog.LevelError, strings.TrimPrefix(text, "holdfast: ")) // tell adds it
}

// tell prints a message. It removes passwords.
func (a *app) tell(level slog.Level, text string) {
	text = redact(text, a.redisURL)
	if a.logFormat == "json" {
		slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: level})).Log(context.Background(), level, text)
		return
	}
	a.console.line(text)
}
