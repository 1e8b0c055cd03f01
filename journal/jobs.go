package journal

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Job is the state of a name for which a [Writer] noted [Started], [Ended] or
// [Skipped], as "holdfast run" does. Its times are the server's. A zero time means
// never, or not known any more.
type Job struct {
	Name      string
	Owner     string        // of the newest start
	Tried     time.Time     // newest start or skip
	Started   time.Time     // newest start
	Succeeded time.Time     // newest end with code 0
	Ended     time.Time     // newest end
	Code      int           // exit code of the newest end
	Took      time.Duration // duration of the newest run that ended
	Skipped   int           // number of skips since Started, because the name was held elsewhere
	Every     time.Duration // between the two newest tries; 0 if there was one
	Now       time.Time     // time of this state
}

// Unended reports whether the job has started and not ended: it runs, or its process died.
func (j *Job) Unended() bool { return j.Started.After(j.Ended) }

// Late reports whether the next try is overdue: the newest one is older than twice
// Every plus one minute.
func (j *Job) Late() bool {
	return j.Every > 0 && j.Now.Sub(j.Tried) > 2*j.Every+time.Minute
}

// Jobs returns the known jobs, the one with the oldest success first. Redis remembers
// about the newest 1,000, for 400 days after the newest run of any job. The prefix is
// [Options.Prefix] of the Writers.
func Jobs(ctx context.Context, store driver.Store, prefix string) ([]Job, error) {
	c := caller{store: store, patience: toRead}
	reply, err := c.eval(ctx, driver.Call{Script: script.JobList, Keys: []string{jobsPrefix + keyPrefix(prefix)}})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, explained(err)
	case len(reply) < 2 || len(reply)%2 != 0 || reply[0] != "jobs":
		return nil, errors.New("holdfast: journal: unexpected answer of the server")
	}
	now, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for pair := range slices.Chunk(reply[2:], 2) {
		if j, ok := parseJob(pair[0], pair[1]); ok {
			j.Now = time.UnixMicro(now)
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		if c := a.Succeeded.Compare(b.Succeeded); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return jobs, nil
}

// parseJob reads what job_note writes: started succeeded ended code took skipped
// every tried writer seq owner.
func parseJob(name, record string) (Job, bool) {
	part := strings.SplitN(record, " ", 11)
	if len(part) < 11 {
		return Job{}, false
	}
	var n [8]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(part[i], 10, 64); err != nil {
			return Job{}, false
		}
	}
	return Job{
		Name: name, Owner: part[10],
		Started: momentOf(n[0]), Succeeded: momentOf(n[1]), Ended: momentOf(n[2]),
		Code: int(n[3]), Took: time.Duration(n[4]) * time.Millisecond,
		Skipped: int(n[5]), Every: us(n[6]), Tried: momentOf(n[7]),
	}, true
}

// momentOf is a time in microseconds; 0 is none.
func momentOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}
