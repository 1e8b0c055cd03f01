//go:build unix

package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// every runs job about once per interval, and among all processes that call it for
// this name never twice within one, until ctx ends.
func every(ctx context.Context, client *holdfast.Client, name string, interval time.Duration, job func(context.Context, *holdfast.Lease) error) {
	mutex := client.Mutex(name)
	mutex.MinHold = interval
	for wait := time.Duration(0); ; {
		select { // the first process runs the job: a random wait spreads the users over the processes
		case <-time.After(wait + rand.N(interval/20)):
		case <-ctx.Done():
			return
		}
		lease, err := mutex.TryLock(ctx)
		held, isHeld := errors.AsType[*holdfast.HeldError](err)
		switch {
		case isHeld: // another process runs the job, or has run it: the name is in cool-down
			wait, err = min(held.Remaining, interval), nil
		case err != nil: // unknown whether the name is held: try again soon
			wait = min(interval, 5*time.Second)
		default:
			granted := time.Now()
			err = errors.Join(job(lease.Context(ctx), lease), lease.Release())
			wait = interval - time.Since(granted)
		}
		if err != nil && ctx.Err() == nil {
			log.Println(name, err)
		}
	}
}

// TestEveryIsTheExample: what is tested here is what users are shown.
func TestEveryIsTheExample(t *testing.T) {
	of := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\nfunc every(")
		body, _, _ := strings.Cut(after, "\n}\n")
		return body
	}
	if got, want := of("users_test.go"), of("../../contrib/example_test.go"); got != want || want == "" {
		t.Errorf("every differs from that of contrib:\n%s\nwant:\n%s", got, want)
	}
}

// manyUsers is what a child does for many users: their jobs, each at an interval of its
// own, until a time. At half time some leave and some come.
type manyUsers struct {
	Users, Leave, Come int // how many, and how many of them leave, and come besides
	Half, End          time.Time
	File               string // for what it answers
}

// interval is what a user wants.
func (manyUsers) interval(user int) time.Duration { return time.Duration(6+user%5) * time.Second }

// run writes down the tokens of all runs of each user.
func (d manyUsers) run(client *holdfast.Client) error {
	var mu sync.Mutex
	runs := map[int][]int64{}
	ctx, cancel := context.WithDeadline(context.Background(), d.End)
	defer cancel()
	first, leave := context.WithDeadline(ctx, d.Half)
	defer leave()
	var all sync.WaitGroup
	serve := func(ctx context.Context, user int) {
		all.Go(func() {
			every(ctx, client, fmt.Sprint("user-", user), d.interval(user), func(_ context.Context, lease *holdfast.Lease) error {
				mu.Lock()
				defer mu.Unlock()
				runs[user] = append(runs[user], lease.Token())
				return lease.Err()
			})
		})
	}
	for user := range d.Users {
		time.Sleep(6 * time.Second / time.Duration(d.Users)) // an hour's interval would spread them so
		if user < d.Leave {
			serve(first, user)
		} else {
			serve(ctx, user)
		}
	}
	<-first.Done()
	for user := range d.Come {
		serve(ctx, d.Users+user)
	}
	all.Wait()
	text, err := json.Marshal(runs)
	return errors.Join(err, os.WriteFile(d.File, text, 0o600))
}

// Two processes with 2,000 users, each with an interval of its own: each user's job
// runs once per interval, never earlier, wherever; users come and go; both work; and
// it costs the commands that are promised. A token says when its grant was, by the
// server's clock.
func TestProcessManyUsers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 3*time.Second, "A", "B")
	began := time.Now()
	d := manyUsers{Users: 2000, Leave: 100, Come: 100, Half: began.Add(15 * time.Second), End: began.Add(32 * time.Second)}
	var calls []call
	var files []string
	for i, p := range processes {
		d.File = filepath.Join(t.TempDir(), strconv.Itoa(i))
		files = append(files, d.File)
		calls = append(calls, p.order(order{Do: "users", Users: d}))
	}
	var work []int
	runs := map[int]map[int64]bool{}
	for i, c := range calls {
		r := c.within(time.Until(d.End) + clienttest.Patience)
		text, err := os.ReadFile(files[i])
		part := map[int][]int64{}
		if err := errors.Join(err, json.Unmarshal(text, &part)); err != nil || r.Err != "" {
			t.Fatal(err, r.Err)
		}
		n := 0
		for user, tokens := range part {
			if runs[user] == nil {
				runs[user] = map[int64]bool{}
			}
			for _, token := range tokens {
				if runs[user][token] {
					t.Errorf("user %d: token %d twice", user, token)
				}
				runs[user][token] = true
				n++
			}
		}
		work = append(work, n)
	}
	for user := range d.Users + d.Come {
		d.regular(t, user, began, runs[user])
	}
	total := work[0] + work[1]
	if work[0] < total/4 || work[1] < total/4 {
		t.Errorf("the two ran %v jobs, want both to work", work)
	}
	cost := float64(evalshas(t, server)) / float64(total)
	if cost > 6 { // 3 who runs it, 1 the other, and who comes a little too early asks again
		t.Errorf("%.2f commands for each user and interval, want about 4", cost)
	}
	t.Logf("%v jobs, %.2f commands for each", work, cost)
}

// regular wants the runs of a user to be an interval apart, and less than two, but
// for what a busy machine adds.
func (d manyUsers) regular(t *testing.T, user int, began time.Time, tokens map[int64]bool) {
	t.Helper()
	const busy = 5 * time.Second
	interval, from, to := d.interval(user), began, d.End
	switch {
	case user < d.Leave:
		to = d.Half
	case user >= d.Users:
		from = d.Half
	}
	before := from
	for i, at := range grants(tokens) {
		gap := at.Sub(before)
		if i > 0 && gap < interval {
			t.Errorf("user %d: run %d came %v after the one before, want %v at least", user, i, gap, interval)
		}
		if gap > 2*interval+busy {
			t.Errorf("user %d: run %d came %v after the one before, want %v", user, i, gap, interval)
		}
		before = at
	}
	if to.Sub(before) > 2*interval+busy || before.After(to.Add(time.Second)) {
		t.Errorf("user %d: the last of %d runs was %v before the end", user, len(tokens), to.Sub(before))
	}
}

// grants are the moments of these tokens.
func grants(tokens map[int64]bool) []time.Time {
	var all []time.Time
	for _, token := range slices.Sorted(maps.Keys(tokens)) {
		all = append(all, time.UnixMicro(token/2))
	}
	return all
}

// evalshas is how many scripts a server was sent.
func evalshas(t *testing.T, server *redistest.Server) int {
	t.Helper()
	_, after, _ := strings.Cut(server.MustDo(t, "INFO", "commandstats"), "cmdstat_evalsha:calls=")
	number, _, _ := strings.Cut(after, ",")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
