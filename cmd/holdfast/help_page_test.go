package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// allCommands are those that people can see, with their subcommands and pages of help.
func allCommands() []*cobra.Command {
	root := rootCommand((&cli.App{Console: console.NewLines(io.Discard)}))
	root.InitDefaultHelpFlag()
	all := []*cobra.Command{root}
	for i := 0; i < len(all); i++ {
		for _, cmd := range all[i].Commands() {
			if !cmd.Hidden {
				all = append(all, cmd)
			}
		}
	}
	return all
}

// 'X --help' is one screen of 80 columns, and its last line names the whole text.
func TestShortHelpIsOneScreen(t *testing.T) {
	t.Parallel()
	for _, cmd := range allCommands() {
		if !cmd.Runnable() || !cmd.HasParent() {
			continue
		}
		text := help.ShortHelp(cmd)
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) > help.HelpHeight {
			t.Errorf("%s --help has %d lines, want at most %d", cmd.CommandPath(), len(lines), help.HelpHeight)
		}
		if got, want := lines[len(lines)-1], "All flags and details: holdfast help "+help.TopicOf(cmd); got != want {
			t.Errorf("%s --help ends with %q, want %q", cmd.CommandPath(), got, want)
		}
		if !strings.Contains(text, "\nUsage:\n") {
			t.Errorf("%s --help does not show the usage", cmd.CommandPath())
		}
	}
}

// 'help serve' has every path of the API.
func TestHelpOfServeHasThePaths(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := runInProcess(t.Context(), &out, &out, "help", "serve")
	text := out.String()
	if code != 0 {
		t.Fatalf("help serve: exit code %d: %s", code, text)
	}
	api, err := os.ReadFile("../../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var described struct{ Paths map[string]any }
	if err := json.Unmarshal(api, &described); err != nil || len(described.Paths) == 0 {
		t.Fatalf("%d paths, %v", len(described.Paths), err)
	}
	for path := range described.Paths {
		path = strings.ReplaceAll(path, "{name}", "NAME")
		if !regexp.MustCompile(regexp.QuoteMeta(path) + `(\s|,|\?)`).MatchString(text) {
			t.Errorf("help serve does not have the path %s", path)
		}
	}
}

// 'help X' has every flag, and it is all of the short help and more.
func TestFullHelpHasEverything(t *testing.T) {
	t.Parallel()
	for _, cmd := range allCommands() {
		text := help.FullHelp(cmd)
		if cmd.Long == "" {
			t.Errorf("%s has no text in internal/help/text", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && flag.Name != "help" && cmd.Runnable() && !strings.Contains(text, "--"+flag.Name+" ") {
				t.Errorf("help %s lacks --%s", help.TopicOf(cmd), flag.Name)
			}
		})
		if cmd.HasParent() && cmd.Runnable() && !strings.Contains(text, "HOLDFAST_REDIS_URL") {
			t.Errorf("help %s does not name the variables", help.TopicOf(cmd))
		}
	}
}

// No text of help is wider than a terminal of 80 columns.
func TestHelpFitsInWidth(t *testing.T) {
	t.Parallel()
	for _, cmd := range allCommands() {
		for _, text := range []string{help.ShortHelp(cmd), help.FullHelp(cmd)} {
			for line := range strings.Lines(text) {
				if got := ansi.StringWidth(strings.TrimRight(line, "\n")); got > help.HelpWidth {
					t.Errorf("the help of %s has a line of %d columns, want at most %d: %s", cmd.CommandPath(), got, help.HelpWidth, line)
				}
			}
		}
	}
}
