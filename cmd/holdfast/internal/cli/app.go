// Package cli is what all commands have in common: their flags and variables, exit codes,
// errors of the command line, and how they talk to people. It knows no command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/spf13/cobra"
)

// App is one run of the program: where it reads and writes, and the values of the flags
// that all commands share. The fields are final when a command's RunE is called, which is
// after the environment was read.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Console        *console.Lines // stderr, for what we say ourselves

	RedisURL     string // never printed: it may hold a password
	PasswordFile PasswordFile
	Prefix       string // as Options.Prefix wants it: "" is the default, NoPrefix is none
	Owner        string
	Output       string // text or json
	LogFormat    string // text or json
	Quiet        bool
	Verbose      bool

	byVariable  map[string]bool // flags that a variable has set
	urlVariable string          // the one that RedisURL is from; empty: none

	Printed error // the first of page; nil: all was printed

	Busy    bool // it ends because the name is held, with any code
	started bool // a RunE was reached: the command line was right
}

// Begin reads the environment before cmd's own work. The exit code of an error depends on
// whether the work has begun.
func (a *App) Begin(cmd *cobra.Command) {
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.FromEnvironment(cmd); err != nil {
			return err
		}
		a.started = true
		return a.namingVariables(work(cmd, args))
	}
}

// Command returns a command that runs work. It has no flags yet.
func (a *App) Command(use, short string, args cobra.PositionalArgs, work func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error { return work(cmd.Context(), args) },
	}
}

// Level is the least level of what the library logs.
func (a *App) Level() slog.Level {
	switch {
	case a.Quiet:
		return slog.LevelError
	case a.Verbose:
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// Logger is what the library logs to: stderr, in the form the flags ask for.
func (a *App) Logger(level slog.Leveler) slog.Handler {
	if a.LogFormat == "json" {
		return slog.NewJSONHandler(a.Stderr, &slog.HandlerOptions{Level: level})
	}
	return console.NewHandler(a.Console, level)
}

// Say talks to people on stderr, unless they asked for quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Quiet {
		a.print(slog.LevelInfo, fmt.Sprintf(format, args...))
	}
}

// Detail prints a message with --verbose.
func (a *App) Detail(format string, args ...any) {
	if a.Verbose && !a.Quiet {
		a.print(slog.LevelDebug, fmt.Sprintf(format, args...))
	}
}

// Complain prints an error, with any flags.
func (a *App) Complain(text string) {
	a.print(slog.LevelError, strings.TrimPrefix(text, "holdfast: ")) // print adds it
}

// print prints a message. It removes passwords.
func (a *App) print(level slog.Level, text string) {
	slog.New(a.Logger(level)).Log(context.Background(), level, Redact(text, a.RedisURL))
}

// ExitCode is the code for err: its own, or the one of what it is about. nil: 0.
func (a *App) ExitCode(err error) int {
	var coded *ExitError
	var refused driver.ServerError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.Code
	case !a.started, errors.Is(err, holdfast.ErrName), errors.Is(err, holdfast.ErrValue), errors.Is(err, holdfast.ErrKind):
		return ExitUsage
	case errors.Is(err, holdfast.ErrVersion):
		return ExitProtocol
	case errors.As(err, &refused) && Denied(string(refused)):
		return ExitNoPerm
	case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, holdfast.ErrReplicas):
		return ExitUnreachable
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, holdfast.ErrTenure):
		return ExitTempFail
	case errors.Is(err, holdfast.ErrLost):
		return ExitLost
	}
	return ExitSoftware
}

// Explain is the text of err for people, with what only the command line knows:
// which server it was, and which prefix has become part of the key.
func (a *App) Explain(err error) string {
	var coded *ExitError
	var refused driver.ServerError
	var bad *holdfast.NameError
	switch {
	case errors.As(err, &coded):
	case errors.As(err, &bad) && a.KeyPrefix() != "" && strings.ContainsAny(bad.Name, "{}"):
		return fmt.Sprintf("%v; the key is %q, because %s is %q", err, a.KeyPrefix()+bad.Name, a.Called("prefix"), a.KeyPrefix())
	case errors.Is(err, holdfast.ErrUnreachable) && errors.As(err, &refused):
		return a.advised(fmt.Sprintf("%s refused: %s", PublicURL(a.RedisURL), Reason(err)), err)
	case errors.Is(err, holdfast.ErrUnreachable):
		return fmt.Sprintf("no answer from %s: %s", PublicURL(a.RedisURL), Why(err))
	default:
		return a.advised(err.Error(), err)
	}
	return err.Error()
}

// advised is the text of err, and what to do about it.
func (a *App) advised(text string, err error) string {
	if fix := a.Fix(err, doctor.Fix); fix != "" {
		return strings.TrimSuffix(text, ".") + ": " + fix
	}
	return text
}

// Fix is the advice that advise gives about err, unless it is to use another URL and ours
// finds the new master by itself.
func (a *App) Fix(err error, advise func(error) string) string {
	scheme, _, _ := strings.Cut(a.RedisURL, "://")
	if doctor.Moves(err) && ContainsAny(scheme, "sentinel", "cluster") {
		return ""
	}
	return advise(err)
}

// KeyPrefix is the text before each name in Redis.
func (a *App) KeyPrefix() string {
	switch a.Prefix {
	case "":
		return holdfast.DefaultPrefix
	case holdfast.NoPrefix:
		return ""
	}
	return a.Prefix
}

// Page is stdout for what a command prints once. What could not be printed is the
// command's error.
func (a *App) Page() console.Screen {
	s := console.ScreenOf(a.Stdout)
	s.Failed = &a.Printed
	return s
}

// Print prints v with -o json, and else what text prints.
func (a *App) Print(v any, text func(console.Screen)) error {
	if a.Output == "json" {
		return console.PrintJSON(a.Stdout, v)
	}
	text(a.Page())
	return nil
}

// PrintJSON prints v with -o json, and else nothing.
func (a *App) PrintJSON(v any) error { return a.Print(v, func(console.Screen) {}) }

// OutputFlag gives cmd the flag -o: text, json, and more formats that only cmd has.
func (a *App) OutputFlag(cmd *cobra.Command, more ...string) {
	cmd.Flags().VarP(NewChoice(&a.Output, append([]string{"text", "json"}, more...)...), "output", "o", "output format")
}
