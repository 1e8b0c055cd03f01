// Package scripts is 'holdfast script': it prints the Lua that runs in a server.
package scripts

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/spf13/cobra"
)

// Command is 'holdfast script'.
func Command(a *cli.App) *cobra.Command {
	cmd := a.Command("script [NAME]", "Print a Lua script that holdfast runs in Redis", cli.Args(0, 1, "at most one NAME"), func(_ context.Context, args []string) error {
		if len(args) == 0 {
			return list(a)
		}
		return show(a, args[0])
	})
	cmd.ValidArgsFunction = cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp)
	a.OutputFlag(cmd)
	return cmd
}

// scriptJSON is a script as -o json prints it. Its names are promised.
type scriptJSON struct {
	Name    string `json:"name"`
	SHA     string `json:"sha"`
	Does    string `json:"does"`
	Keys    string `json:"keys"`
	Args    string `json:"args"`
	Answers string `json:"answers"`
	Source  string `json:"source,omitempty"`
}

func newScriptJSON(f script.File) scriptJSON {
	return scriptJSON{Name: f.Name, SHA: f.SHA, Does: f.Does, Keys: f.Keys, Args: f.Args, Answers: f.Answers}
}

func names() (names []cobra.Completion) {
	for _, f := range script.All() {
		names = append(names, f.Name)
	}
	return names
}

func list(a *cli.App) error {
	var out []scriptJSON
	rows := [][]string{{"NAME", "SHA", "WHAT IT DOES"}}
	for _, f := range script.All() {
		out = append(out, newScriptJSON(f))
		does, _, _ := strings.Cut(f.Does, ". ") // its first sentence
		rows = append(rows, []string{f.Name, f.SHA, strings.TrimSuffix(does, ".")})
	}
	return a.Print(out, func(s console.Screen) { console.PrintTable(s, rows) })
}

func show(a *cli.App, what string) error {
	found := script.Find(what)
	switch {
	case len(found) == 0:
		return cli.Usagef("no script %q; 'holdfast script' lists them", what)
	case len(found) > 1:
		return cli.Usagef("the SHAs of %s and %s begin with %s; give more digits", found[0].Name, found[1].Name, what)
	case a.Output == "json":
		out := newScriptJSON(found[0])
		out.Source = found[0].Source
		return console.PrintJSON(a.Stdout, out)
	}
	_, err := fmt.Fprint(a.Stdout, found[0].Whole())
	return err
}
