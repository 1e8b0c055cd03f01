package show

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/spf13/cobra"
)

// JobsCommand is 'holdfast jobs'.
func JobsCommand(a *cli.App) *cobra.Command {
	var problems bool
	cmd := a.Command("jobs [PREFIX]", "List jobs, with the result and time of their last run", cli.MaybeOne, func(ctx context.Context, args []string) error {
		return connect.On(ctx, a, func(client *connect.Session) error {
			return jobs(ctx, a, client, strings.Join(args, ""), problems)
		})
	})
	cmd.Flags().BoolVar(&problems, "problems", false, "list only jobs with a problem; exit with 1 if there are any")
	a.OutputFlag(cmd)
	sub := a.Command("forget NAME", "Remove a job that is not started any more from the list", cli.OneName, func(ctx context.Context, args []string) error {
		return connect.On(ctx, a, func(client *connect.Session) error { return forget(ctx, a, client, args[0]) })
	})
	a.Begin(sub)
	cmd.AddCommand(sub)
	return cmd
}

// forget removes a job, without a question: the next run of it makes it known again.
func forget(ctx context.Context, a *cli.App, client *connect.Session, name string) error {
	job, err := journal.Forget(ctx, client.Store, a.Prefix, name)
	switch {
	case err != nil:
		return err
	case job == nil:
		return fmt.Errorf("there is no job %s; 'holdfast jobs' lists them", view.Text(name))
	case job.Started.IsZero():
		a.Say("forgot %s, which was never started", view.Text(name))
	case job.Unended():
		a.Say("forgot %s, started %s by %s, without an end", view.Text(name), console.Since(job.Now, job.Started), view.Text(job.Owner))
	default:
		a.Say("forgot %s, started %s by %s, exit code %d", view.Text(name), console.Since(job.Now, job.Started), view.Text(job.Owner), job.Code)
	}
	return nil
}

func jobs(ctx context.Context, a *cli.App, client *connect.Session, prefix string, problems bool) error {
	all, unreadable, err := view.Jobs(ctx, client.Admin, prefix)
	if err != nil {
		return err
	}
	if unreadable > 0 {
		a.Say("%s", view.Unreadable(unreadable, "job"))
	}
	known := len(all)
	if problems {
		all = slices.DeleteFunc(all, func(j view.JobWithState) bool { return !j.State.Problem() })
	}
	page := a.Page()
	out := make([]view.Job, len(all))
	rows := [][]string{{"NAME", "STATE", "SUCCEEDED", "STARTED", "TOOK", "CODE", "SKIPPED", "OWNER"}}
	for i, j := range all {
		out[i] = view.NewJob(j)
		took, code := "-", "-"
		if !j.Ended.IsZero() {
			took, code = console.Shortly(j.Took), fmt.Sprint(j.Code)
		}
		rows = append(rows, []string{view.Text(j.Name), page.Paint(jobColour(j.State), string(j.State)), console.Since(j.Now, j.Succeeded), console.Since(j.Now, j.Started), took, code, fmt.Sprint(j.Skipped), view.Text(j.Owner)})
	}
	if problems && len(all) == 0 && a.Output != "json" && !page.Terminal { // cron mails what a command prints
		return nil
	}
	switch {
	case a.Output != "json" && known == 0 && prefix != "":
		a.Say("no job begins with %s", view.Text(prefix))
	case a.Output != "json" && known == 0 && unreadable == 0:
		a.Say("no jobs yet; 'holdfast run' records each run, except with --no-journal")
	case len(all) > 0 || a.Output == "json":
		err = a.Print(out, func(s console.Screen) { console.PrintTable(s, rows) })
	}
	if problems && known > 0 {
		a.Say("%d of %s with a problem", len(all), console.Several(known, "job"))
	}
	if err == nil && problems && len(all) > 0 {
		return cli.Exit(cli.ExitProblems, nil)
	}
	return err
}

func jobColour(s journal.JobState) string {
	switch {
	case s.Problem():
		return console.Bad
	case s == journal.JobSkipped:
		return console.Warn
	}
	return ""
}
