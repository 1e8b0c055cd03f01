package cli

import (
	"cmp"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// nested reports whether we run within a command of another holdfast. Then
// HOLDFAST_OWNER and HOLDFAST_VALUE speak of the lease around us.
func nested() bool { return os.Getenv("HOLDFAST_TOKEN") != "" }

// Settings are the flags that a variable can set, too: those that say how, and not
// what is locked or ordered.
var Settings = []string{
	"redis", "prefix", "redis-password-file", "pass-url", "owner", "quiet", "verbose", "log-format", "output", "ttl", "grace", "wait", "no-wait",
	"busy-code", "wait-replicas", "min-hold", "max-hold", "expect", "every", "at", "value", "reason", "note", "details", "no-journal",
	"status-file", "lease-file", "duration", "interval", "sort",
	"listen", "tokens", "tls-cert", "tls-key", "base-path", "read-only", "max-ttl", "max-wait", "terraform-ttl",
	"max-streams", "max-connections", "notify", "notify-file", "notify-format", "notify-limit",
}

// ofOneLease are those that speak of one lease: within a command that has it, they are
// not for another.
var ofOneLease = []string{"owner", "value", "status-file"}

// rivals are flags that exclude each other: one on the command line counts more than
// the other's variable.
var rivals = map[string]string{"wait": "no-wait", "no-wait": "wait", "notify": "notify-file", "notify-file": "notify"}

func variableOf(flag string) string {
	if flag == "redis" {
		return "HOLDFAST_REDIS_URL"
	}
	return "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FromEnvironment fills what no flag has said. A variable that is set but empty
// counts only for the prefix, where empty means none.
func (a *App) FromEnvironment(cmd *cobra.Command) error {
	flags := cmd.Flags()
	given := map[string]bool{}
	flags.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	if given["guard"] { // its parent has read the flags
		return nil
	}
	a.byVariable = map[string]bool{}
	if !given["redis"] {
		a.urlFromEnvironment()
	}
	prefixed := given["prefix"]
	if !prefixed {
		a.Prefix, prefixed = os.LookupEnv("HOLDFAST_PREFIX")
		a.byVariable["prefix"] = prefixed
	}
	if prefixed && a.Prefix == "" {
		a.Prefix = holdfast.NoPrefix
	}
	for _, name := range Settings[2:] {
		value := os.Getenv(variableOf(name))
		if flags.Lookup(name) == nil || value == "" || given[name] || given[rivals[name]] || nested() && slices.Contains(ofOneLease, name) {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return badVariable(flags.Lookup(name), value, err)
		}
		a.byVariable[name] = true
	}
	return nil
}

func (a *App) urlFromEnvironment() {
	for _, name := range []string{"HOLDFAST_REDIS_URL", "REDIS_URL"} {
		if a.RedisURL = os.Getenv(name); a.RedisURL != "" {
			a.urlVariable = name
			return
		}
	}
	a.RedisURL = DefaultURL
}

// NamingURL is an error of the command line about the server's URL, with the flag or the
// variable that has it.
func (a *App) NamingURL(err error) error {
	if CodeOf(err) != ExitUsage {
		return err
	}
	return Usagef("%s", strings.Replace(err.Error(), "the URL", cmp.Or(a.urlVariable, "--redis"), 1))
}

// OnCommandLine reports whether a flag was said there, and not by a variable.
func (a *App) OnCommandLine(cmd *cobra.Command, flag string) bool {
	return cmd.Flags().Changed(flag) && !a.byVariable[flag]
}

// Called is what people said: the variable that set a flag, or the flag.
func (a *App) Called(flag string) string {
	if a.byVariable[flag] {
		return variableOf(flag)
	}
	return "--" + flag
}

func badVariable(flag *pflag.Flag, value string, err error) error {
	what := variableOf(flag.Name) + "=" + value
	if hint := valueHint(flag); hint != "" {
		return Usagef("%s: want %s", what, hint)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalid.Unwrap()
	}
	return Usagef("%s: %w", what, err)
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// namingVariables is an error of the command line with the names of variables for
// the flags that those have set.
func (a *App) namingVariables(err error) error {
	var coded *ExitError
	if !errors.As(err, &coded) || coded.Code != ExitUsage || coded.Err == nil || len(a.byVariable) == 0 {
		return err
	}
	text := flagName.ReplaceAllStringFunc(coded.Err.Error(), func(flag string) string {
		return a.Called(strings.TrimPrefix(flag, "--"))
	})
	if text == coded.Err.Error() {
		return err
	}
	return Usagef("%s", text)
}
