package show

import (
	"context"
	"errors"
	"fmt"
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
	cmd := a.Command("jobs", "List jobs, with the result and time of their last run", cli.NoArgs, func(ctx context.Context, _ []string) error {
		return connect.On(ctx, a, func(client *connect.Session) error { return jobs(ctx, a, client) })
	})
	a.OutputFlag(cmd)
	return cmd
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
}

func jobs(ctx context.Context, a *cli.App, client *connect.Session) error {
	jobs, err := journal.Jobs(ctx, client.Store, a.Prefix)
	if err != nil {
		return err
	}
	page := a.Page()
	out := make([]jobJSON, len(jobs))
	rows := [][]string{{"NAME", "STATE", "SUCCEEDED", "STARTED", "TOOK", "CODE", "SKIPPED", "OWNER"}}
	for i, j := range jobs {
		state, err := jobState(ctx, client, &j)
		if err != nil {
			return err
		}
		out[i] = jobJSON{
			j.Name, state, j.Owner, j.Now.UTC(), console.TimeOrNull(j.Tried), console.TimeOrNull(j.Started), console.TimeOrNull(j.Succeeded), console.TimeOrNull(j.Ended),
			j.Code, j.Took.Milliseconds(), j.Skipped, j.Every.Milliseconds(),
		}
		took, code := "-", "-"
		if !j.Ended.IsZero() {
			took, code = console.Shortly(j.Took), fmt.Sprint(j.Code)
		}
		rows = append(rows, []string{view.Text(j.Name), page.Paint(jobColours[state], state), console.Since(j.Now, j.Succeeded), console.Since(j.Now, j.Started), took, code, fmt.Sprint(j.Skipped), view.Text(j.Owner)})
	}
	if len(jobs) == 0 && a.Output != "json" {
		a.Say("no jobs yet; 'holdfast run' records each run, except with --no-journal")
		return nil
	}
	return a.Print(out, func(s console.Screen) { console.PrintTable(s, rows) })
}

// jobColours are those of the states that need attention.
var jobColours = map[string]string{"no end": console.Bad, "failed": console.Bad, "late": console.Bad, "skipped": console.Warn}

// jobState is the STATE of a job. If it has no end, its lock says whether it still runs. A
// lock that cannot be read, because its key is something else by now, has no holder.
func jobState(ctx context.Context, client *connect.Session, j *journal.Job) (string, error) {
	if j.Unended() {
		state, err := client.Admin.Inspect(ctx, j.Name)
		switch {
		case errors.Is(err, holdfast.ErrUnreachable), ctx.Err() != nil:
			return "", err
		case err != nil:
			return "no end", nil
		}
		if h := state.Holder; h != nil && !h.Cooldown && (h.Owner == j.Owner || state.Kind != holdfast.KindMutex) {
			return "running", nil
		}
		return "no end", nil
	}
	switch {
	case j.Code != 0:
		return "failed", nil
	case j.Skipped > 0:
		return "skipped", nil
	case j.Late():
		return "late", nil
	}
	return "ok", nil
}
