package journal

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Job is what is remembered of a name that a Writer noted Started, Ended or Skipped
// of: as `holdfast run` does. Times are the server's; a zero time: never, as far as
// is remembered.
type Job struct {
	Name      string
	Owner     string        // who started it last
	Tried     time.Time     // the newest start, or skip
	Started   time.Time     // the newest start
	Succeeded time.Time     // the newest end with code 0
	Ended     time.Time     // the newest end
	Code      int           // of that
	Took      time.Duration // of that
	Skipped   int           // in a row since Started: somebody else had the name
	Every     time.Duration // between the two newest tries; 0: there was one
	Now       time.Time     // when this was looked up
}

// Open tells that it was started and has not ended: it runs, or died with its process.
func (j *Job) Open() bool { return j.Started.After(j.Ended) }

// Late tells that its next try is overdue: since the last one more than twice the
// time has passed that lay before it, and a minute.
func (j *Job) Late() bool {
	return j.Every > 0 && j.Now.Sub(j.Tried) > 2*j.Every+time.Minute
}

// Jobs lists them, the one first whose last success is the oldest. What is remembered
// is about the newest 1,000, each for as long as any is run, and 400 days. prefix is
// Options.Prefix of the Writers. One round trip.
func Jobs(ctx context.Context, store holdfast.Store, prefix string) ([]Job, error) {
	c := caller{store: store, patience: toRead}
	reply, err := c.eval(ctx, holdfast.Call{Script: scriptList, Keys: []string{jobsPrefix + keyPrefix(prefix)}})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, explained(err)
	case len(reply) < 2 || len(reply)%2 != 0 || reply[0] != "jobs":
		return nil, errors.New("holdfast: journal: the server gave an answer that makes no sense")
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
