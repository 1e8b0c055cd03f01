package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/holdfast-go/holdfast"
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

// exitCode is the code for err: its own, or the one of what it is about.
func (a *app) exitCode(err error) int {
	var coded *exitError
	var refused holdfast.ServerError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case !a.started, errors.Is(err, holdfast.ErrName), errors.Is(err, holdfast.ErrValue), errors.Is(err, holdfast.ErrKind):
		return exitUsage
	case errors.As(err, &refused) && denied(string(refused)):
		return exitNoPerm
	case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, holdfast.ErrReplicas):
		return exitUnreachable
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, holdfast.ErrTenure):
		return exitTempFail
	case errors.Is(err, holdfast.ErrLost):
		return exitLost
	}
	return exitSoftware
}

// explain is the text of err for people, with what only the command line knows:
// which server it was, and which prefix has become part of the key.
func (a *app) explain(err error) string {
	var coded *exitError
	var refused holdfast.ServerError
	var bad *holdfast.NameError
	switch {
	case errors.As(err, &coded):
	case errors.As(err, &bad) && a.keyPrefix() != "" && strings.ContainsAny(bad.Name, "{}"):
		return fmt.Sprintf("%v; the key is %q, because %s is %q", err, a.keyPrefix()+bad.Name, a.called("prefix"), a.keyPrefix())
	case errors.Is(err, holdfast.ErrUnreachable) && errors.As(err, &refused):
		return fmt.Sprintf("%s refused: %s", publicURL(a.redisURL), reason(err))
	case errors.Is(err, holdfast.ErrUnreachable):
		return fmt.Sprintf("no answer from %s: %s", publicURL(a.redisURL), why(err))
	}
	return err.Error()
}

// keyPrefix is the text before each name in Redis.
func (a *app) keyPrefix() string {
	switch a.prefix {
	case "":
		return holdfast.DefaultPrefix
	case holdfast.NoPrefix:
		return ""
	}
	return a.prefix
}

// page is stdout for what a command prints once. What could not be printed is the
// command's error.
func (a *app) page() screen {
	s := screenOf(a.stdout)
	s.failed = &a.printed
	return s
}

// outputFlag gives cmd the flag -o.
func (a *app) outputFlag(cmd *cobra.Command) {
	cmd.Flags().VarP(newChoice(&a.output, "text", "json"), "output", "o", "output format")
}
