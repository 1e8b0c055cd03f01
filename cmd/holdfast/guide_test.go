package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/pflag"
)

// Each call of holdfast that the guide, the runbooks or README.md shows names a command that
// exists, with flags that it has.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %v, %v, want the pages of the guide", pages, err)
	}
	calls := 0
	for _, page := range append(pages, "../../docs/runbooks.md", "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range callsIn(string(text)) {
			calls++
			checkCall(t, filepath.Base(page), call)
		}
	}
	if calls < 50 {
		t.Errorf("found %d calls of holdfast in the pages, want at least 50", calls)
	}
}

// jq 1.6 ends with 0 if -e is given and there is no input, for example because Redis is
// down. So a monitor needs -n and any(inputs...), which is false then.
func TestDocumentedMonitors(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %v, %v, want the pages of the guide", pages, err)
	}
	monitors := 0
	for _, page := range append(pages, "internal/help/text/jobs.txt", "internal/help/text/show.txt", "../../docs/runbooks.md", "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, flags := range regexp.MustCompile(`\bjq (-\w*e\w*)`).FindAllStringSubmatch(string(text), -1) {
			monitors++
			if !strings.Contains(flags[1], "n") {
				t.Errorf("%s: got jq %s, want also -n", filepath.Base(page), flags[1])
			}
		}
	}
	if monitors < 3 {
		t.Errorf("found %d monitors with jq -e, want at least 3", monitors)
	}
}

// callsIn are the arguments of each call in inline code and in blocks of shell.
func callsIn(page string) (calls []string) {
	page = strings.ReplaceAll(page, "\\\n", " ")
	for _, inline := range regexp.MustCompile("`holdfast ([^`\n]+)`").FindAllStringSubmatch(page, -1) {
		calls = append(calls, inline[1])
	}
	for _, block := range regexp.MustCompile("(?s)```(?:sh|bash|shell)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if args, ok := strings.CutPrefix(strings.TrimSpace(line), "holdfast "); ok {
				calls = append(calls, args)
			}
		}
	}
	return calls
}

// checkCall looks for the command and its flags, up to the command that it runs, a comment
// or a pipe.
func checkCall(t *testing.T, page, call string) {
	t.Helper()
	for _, end := range []string{" -- ", "#", "|", "&", ";", ">"} {
		call, _, _ = strings.Cut(call, end)
	}
	args := strings.Fields(call)
	if len(args) == 0 {
		return
	}
	root := rootCommand((&cli.App{Console: console.NewLines(io.Discard)}))
	cmd, rest, err := root.Find(args)
	switch {
	case err != nil || cmd == root && !strings.HasPrefix(args[0], "-") && args[0] != "serve" && args[0] != "help":
		t.Errorf("%s: holdfast %s: there is no such command: %v", page, call, err)
	case cmd != root:
		if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%s: holdfast %s: %v", page, call, err)
		}
	}
}
