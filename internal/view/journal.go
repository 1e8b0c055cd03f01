package view

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/journal"
)

// Entry is an entry of the journal as GET /v1/history and "holdfast history -o json" show it.
type Entry struct {
	ID            string    `json:"id"`
	At            time.Time `json:"at"`
	UncertaintyMS float64   `json:"uncertainty_ms"`
	Event         string    `json:"event"`
	Name          string    `json:"name"`
	Kind          string    `json:"kind,omitempty"`
	Owner         string    `json:"owner"`
	Token         int64     `json:"token,omitempty"`
	WaitedMS      *float64  `json:"waited_ms,omitempty"`
	HeldMS        *float64  `json:"held_ms,omitempty"`
	Cause         string    `json:"cause,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	Code          *int      `json:"code,omitempty"`
	N             int64     `json:"n,omitempty"`
	Writer        string    `json:"writer"`
	Seq           int64     `json:"seq"`
}

// NewEntry shows an entry.
func NewEntry(e journal.Entry) Entry {
	out := Entry{
		ID: e.ID, At: e.At.UTC(), UncertaintyMS: milliseconds(e.Uncertainty), Event: string(e.Event), Name: e.Name, Kind: string(e.Kind),
		Owner: e.Owner, Token: e.Token, Cause: string(e.Cause), Reason: e.Reason, N: e.N, Writer: e.Writer, Seq: e.Seq,
	}
	switch e.Event {
	case journal.Granted, journal.Skipped:
		out.WaitedMS = new(milliseconds(e.Waited))
	case journal.Released:
		if e.Cause != holdfast.Exported {
			out.HeldMS = new(milliseconds(e.Held))
		}
	case journal.Exported, journal.Lost, journal.Revoked, journal.Stolen, journal.Dropped:
		out.HeldMS = new(milliseconds(e.Held))
	case journal.Ended:
		out.HeldMS, out.Code = new(milliseconds(e.Held)), new(e.Code)
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Job is a job as GET /v1/jobs and "holdfast jobs -o json" show it.
type Job struct {
	Name      string           `json:"name"`
	State     journal.JobState `json:"state"`
	Owner     string           `json:"owner"`
	Now       time.Time        `json:"now"`
	Tried     *time.Time       `json:"tried"`
	Started   *time.Time       `json:"started"`
	Succeeded *time.Time       `json:"succeeded"`
	Ended     *time.Time       `json:"ended"`
	Code      int              `json:"code"`
	TookMS    int64            `json:"took_ms"`
	Skipped   int              `json:"skipped"`
	EveryMS   int64            `json:"every_ms"`
	Due       *time.Time       `json:"due"`
	UsualMS   int64            `json:"usual_ms"`
	LimitMS   int64            `json:"limit_ms"`
}

// NewJob shows a job.
func NewJob(j JobWithState) Job {
	return Job{
		j.Name, j.State, j.Owner, j.Now.UTC(), orNull(j.Tried), orNull(j.Started), orNull(j.Succeeded), orNull(j.Ended),
		j.Code, j.Took.Milliseconds(), j.Skipped, j.Every.Milliseconds(), orNull(j.Due), j.Usual.Milliseconds(), j.Limit.Milliseconds(),
	}
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// JobWithState is a job with its state.
type JobWithState struct {
	journal.Job
	State journal.JobState
}

// settling is how long a process may take from the release of its lock to the note of its end.
const settling = 250 * time.Millisecond

// Unreadable says how many entries, jobs or sums of the journal another program or a newer holdfast
// wrote. what is "entry", "job" or "sum".
func Unreadable(n int, what string) string {
	switch {
	case n == 1:
	case what == "entry":
		what = "entries"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s of the journal cannot be read (written by another program, or by a newer holdfast)", n, what)
}

// Jobs reads the jobs whose names begin with prefix, and the number of all that cannot be read. If
// one seems to have no end, it may be about to be noted, so all are read again.
func Jobs(ctx context.Context, names *admin.Admin, prefix string) (jobs []JobWithState, unreadable int, err error) {
	for again := false; ; again = true {
		all, unreadable, err := journal.Jobs(ctx, names.Store(), cmp.Or(names.Prefix(), holdfast.NoPrefix))
		if err != nil {
			return nil, 0, err
		}
		out, unclear := make([]JobWithState, 0, len(all)), false
		for _, j := range all {
			if !strings.HasPrefix(j.Name, prefix) {
				continue
			}
			runs := false
			if j.Unended() { // a job must not look dead because of a missing right
				if runs, err = admin.MayBeHeldBy(ctx, names, j.Name, j.Client); err != nil {
					return nil, 0, err
				}
			}
			out = append(out, JobWithState{j, j.State(runs)})
			unclear = unclear || j.Unended() && !runs
		}
		if !unclear || again {
			return out, unreadable, nil
		}
		select {
		case <-time.After(settling):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}
