package show

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
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

// jobJSON is a job as -o json prints it. Its names are promised.
type jobJSON struct {
	Name      string     `json:"name"`
	State     string     `json:"state"`
	Owner     string     `json:"owner"`
	Now       time.Time  `json:"now"`
	Tried     *time.Time `json:"tried"`
	Started   *time.Time `json:"started"`
	Succeeded *time.Time `json:"succeeded"`
	Ended     *time.Time `json:"ended"`
	Code      int        `json:"code"`
	TookMS    int64      `json:"took_ms"`
	Skipped   int        `json:"skipped"`
	EveryMS   int64      `json:"every_ms"`
	Due       *time.Time `json:"due"`
	UsualMS   int64      `json:"usual_ms"`
	LimitMS   int64      `json:"limit_ms"`
}

func jobs(ctx context.Context, a *cli.App, client *connect.Session, prefix string, problems bool) error {
	all, err := judgedJobs(ctx, a, client, prefix)
	if err != nil {
		return err
	}
	known := len(all)
	if problems {
		all = slices.DeleteFunc(all, func(j judged) bool { return !j.state.Problem() })
	}
	page := a.Page()
	out := make([]jobJSON, len(all))
	rows := [][]string{{"NAME", "STATE", "SUCCEEDED", "STARTED", "TOOK", "CODE", "SKIPPED", "OWNER"}}
	for i, j := range all {
		out[i] = jobJSON{
			j.Name, string(j.state), j.Owner, j.Now.UTC(), console.TimeOrNull(j.Tried), console.TimeOrNull(j.Started), console.TimeOrNull(j.Succeeded), console.TimeOrNull(j.Ended),
			j.Code, j.Took.Milliseconds(), j.Skipped, j.Every.Milliseconds(), console.TimeOrNull(j.Due), j.Usual.Milliseconds(), j.Limit.Milliseconds(),
		}
		took, code := "-", "-"
		if !j.Ended.IsZero() {
			took, code = console.Shortly(j.Took), fmt.Sprint(j.Code)
		}
		rows = append(rows, []string{view.Text(j.Name), page.Paint(jobColour(j.state), string(j.state)), console.Since(j.Now, j.Succeeded), console.Since(j.Now, j.Started), took, code, fmt.Sprint(j.Skipped), view.Text(j.Owner)})
	}
	switch {
	case a.Output != "json" && known == 0 && prefix != "":
		a.Say("no job begins with %s", view.Text(prefix))
	case a.Output != "json" && known == 0:
		a.Say("no jobs yet; 'holdfast run' records each run, except with --no-journal")
	case len(all) > 0 || a.Output == "json":
		err = a.Print(out, func(s console.Screen) { console.PrintTable(s, rows) })
	}
	if problems && known > 0 {
		a.Say("%d of %s with a problem", len(all), console.Several(known, "job"))
	}
	if err == nil && problems && len(all) > 0 {
		return cli.Exit(1, nil)
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

// judged is a job with its state.
type judged struct {
	journal.Job
	state journal.JobState
}

// settling is how long a process may take from the release of its lock to the note of its end.
const settling = 250 * time.Millisecond

// judgedJobs are the jobs that begin with prefix. If one seems to have no end, it may be about to
// be noted, so all are read again.
func judgedJobs(ctx context.Context, a *cli.App, client *connect.Session, prefix string) ([]judged, error) {
	for again := false; ; again = true {
		all, err := journal.Jobs(ctx, client.Store, a.Prefix)
		if err != nil {
			return nil, err
		}
		out, unclear := make([]judged, 0, len(all)), false
		for _, j := range all {
			if !strings.HasPrefix(j.Name, prefix) {
				continue
			}
			runs, err := stillRuns(ctx, client, &j)
			if err != nil {
				return nil, err
			}
			out = append(out, judged{j, j.State(runs)})
			unclear = unclear || j.Unended() && !runs
		}
		if !unclear || again || !cli.Sleep(ctx, settling) {
			return out, ctx.Err()
		}
	}
}

// stillRuns reports whether the Client that started the job holds its lock. A lock that cannot be
// read, because its key is something else by now, has no holder.
func stillRuns(ctx context.Context, client *connect.Session, j *journal.Job) (bool, error) {
	if !j.Unended() {
		return false, nil
	}
	state, err := client.Admin.Inspect(ctx, j.Name)
	switch {
	case errors.Is(err, holdfast.ErrUnreachable), ctx.Err() != nil:
		return false, err
	case err != nil:
		return false, nil
	}
	return state.HeldBy(j.Client), nil
}
