package journal

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Job describes the runs of a job: a name for which a [Writer] noted [Started],
// [Ended] or [Skipped], as "holdfast run" does. Its times are the server's. A zero time
// means never, or not known any more.
type Job struct {
	Name      string
	Owner     string        // of the newest start
	Client    string        // of the newest start: Entry.Client
	Tried     time.Time     // newest start or skip
	Started   time.Time     // newest start
	Succeeded time.Time     // newest end with code 0
	Ended     time.Time     // end of the run that started last; before Started: not ended
	Code      int           // exit code of the newest run that ended
	Took      time.Duration // duration of that run
	Skipped   int           // number of skips since Started, because the name was held elsewhere
	Every     time.Duration // interval of its starts; 0: unknown, or it has none
	Due       time.Time     // latest time of the next start: two intervals and a minute; zero if Every is 0
	Usual     time.Duration // median of the newest successful runs, ten at most; 0: fewer than three
	Limit     time.Duration // of a run: what it expects, else three times Usual and a minute; 0: unknown
	Now       time.Time     // time of this state
}

// JobState is the state of a [Job].
type JobState string

// The states. The first of them that is true counts.
const (
	JobTooLong JobState = "too long" // runs for longer than Limit
	JobRunning JobState = "running"
	JobNoEnd   JobState = "no end"  // the process of the newest run died, or could not write its end
	JobFailed  JobState = "failed"  // the newest run ended with another code than 0
	JobLate    JobState = "late"    // not started until Due
	JobSkipped JobState = "skipped" // the newest try did not start it, because the name was held
	JobOK      JobState = "ok"
)

// JobStates returns all states.
func JobStates() []JobState {
	return []JobState{JobTooLong, JobRunning, JobNoEnd, JobFailed, JobLate, JobSkipped, JobOK}
}

// Problem reports whether the state needs an operator.
func (s JobState) Problem() bool {
	return s == JobTooLong || s == JobNoEnd || s == JobFailed || s == JobLate
}

// Unended reports whether the job has started and not ended: it runs, or its process died.
func (j *Job) Unended() bool { return j.Started.After(j.Ended) }

// Late reports whether the next start is overdue.
func (j *Job) Late() bool { return !j.Due.IsZero() && j.Now.After(j.Due) }

// State returns the state. If the job is Unended, running says whether its Client still
// holds the name: see HeldBy of admin.State.
func (j *Job) State(running bool) JobState {
	switch {
	case j.Unended() && running && j.Limit > 0 && j.Now.Sub(j.Started) > j.Limit:
		return JobTooLong
	case j.Unended() && running:
		return JobRunning
	case j.Unended():
		return JobNoEnd
	case j.Code != 0:
		return JobFailed
	case j.Late():
		return JobLate
	case j.Skipped > 0:
		return JobSkipped
	}
	return JobOK
}

// Jobs returns the known jobs, the one with the oldest success first. Redis remembers
// about the newest 1,000, for 400 days after the newest run of any job. The prefix is
// [Options.Prefix] of the Writers. Jobs leaves out records that no Writer wrote;
// unreadable is their number.
func Jobs(ctx context.Context, store driver.Store, prefix string) (jobs []Job, unreadable int, err error) {
	c := caller{store: store, patience: toRead}
	reply, err := c.eval(ctx, driver.Call{Script: script.JobList, Keys: []string{jobsPrefix + keyPrefix(prefix)}})
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		return nil, 0, explained(err)
	case len(reply) < 2 || len(reply)%2 != 0 || reply[0] != "jobs":
		return nil, 0, errUnexpected
	}
	for pair := range slices.Chunk(reply[2:], 2) {
		if j, ok := parseJob(pair[0], pair[1], reply[1]); ok {
			jobs = append(jobs, j)
		} else {
			unreadable++
		}
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		if c := a.Succeeded.Compare(b.Succeeded); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return jobs, unreadable, nil
}

// Forget removes a job that is not started any more. It returns what was known of it;
// nil: there was no such job. A later run makes it known again. The prefix is that of
// [Jobs].
func Forget(ctx context.Context, store driver.Store, prefix, name string) (*Job, error) {
	c := caller{store: store, patience: toRead}
	reply, err := c.eval(ctx, driver.Call{Script: script.JobForget, Keys: []string{jobsPrefix + keyPrefix(prefix)}, Args: []string{name}})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, explained(err)
	case len(reply) == 2 && reply[0] == "unknown":
		return nil, nil
	case len(reply) != 3 || reply[0] != "forgotten":
		return nil, errUnexpected
	}
	j, ok := parseJob(name, reply[2], reply[1])
	if !ok {
		return &Job{Name: name}, nil // another program wrote it
	}
	return &j, nil
}

// parseJob reads a record of job_note. Lists are in seconds, then in milliseconds; "0" is
// none. It is false for what no Writer wrote.
func parseJob(name, record, now string) (Job, bool) {
	part := strings.SplitN(record, " ", 18)
	if len(part) < 18 || len(record) > maxRecord {
		return Job{}, false
	}
	var n [11]int64 // of the parts that are numbers, and of now
	for i, text := range append(slices.Concat(part[:7], part[11:14]), now) {
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return Job{}, false
		}
	}
	if !isJob(n) || name == "" || !isPlain(name, maxName) || !isPlain(part[17], maxLabel) || !isPlain(part[10], maxLabel) {
		return Job{}, false
	}
	j := Job{
		Name: name, Owner: part[17], Client: part[10],
		Started: momentOf(n[0]), Succeeded: momentOf(n[1]), Ended: momentOf(n[2]), Tried: momentOf(n[3]),
		Code: int(n[4]), Took: time.Duration(n[5]) * time.Millisecond, Skipped: int(n[6]),
		Limit: time.Duration(n[9]) * time.Millisecond, Now: time.UnixMicro(n[10]),
	}
	j.Usual, _ = median(durations(part[16], time.Millisecond)) // else 0
	if j.Limit == 0 && j.Usual > 0 {
		j.Limit = 3*j.Usual + time.Minute
	}
	from := j.Started
	switch period := n[7]; {
	case period > 0:
		j.Every, from = us(period), momentOf(n[8])
	case period == 0:
		j.Every = interval(durations(part[15], time.Second))
	}
	if j.Every > 0 {
		j.Due = from.Add(2*j.Every + time.Minute)
	}
	return j, true
}

// isJob reports whether a Writer can have written these numbers: no time is in the future.
func isJob(n [11]int64) bool {
	now := n[10]
	latest := now + early.Microseconds()
	for _, at := range []int64{n[0], n[1], n[2], n[3], n[8]} {
		if at < 0 || at > latest {
			return false
		}
	}
	return counts(now, n[6]) && n[6] <= math.MaxInt32 && isCode(n[4]) && lasts(n[7], -time.Microsecond) && inMilliseconds(n[5]) && inMilliseconds(n[9])
}

// inMilliseconds reports whether n can be a duration in milliseconds.
func inMilliseconds(n int64) bool { return 0 <= n && n <= longest.Milliseconds() }

// interval learns the interval of a job without a known schedule, from the longest pause
// before a start on each of its last days; 0: it is not regular, as with runs by hand.
func interval(pauses []time.Duration) time.Duration {
	if len(pauses) < 5 {
		return 0
	}
	slices.Sort(pauses)
	middle, alike := pauses[len(pauses)/2], 0
	for _, pause := range pauses {
		if (pause - middle).Abs() <= middle/20+30*time.Second {
			alike++
		}
	}
	if 3*alike < 2*len(pauses) {
		return 0
	}
	return pauses[len(pauses)-2] // the longest may be an outage; weekends are more
}

// durations reads a list of job_note.
func durations(list string, unit time.Duration) (all []time.Duration) {
	for text := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n <= int64(longest/unit) {
			all = append(all, time.Duration(n)*unit)
		}
	}
	return all
}

// momentOf is a time in microseconds; 0 is none.
func momentOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}
