//go:build unix

package process_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

var (
	failovers = flag.Int("failovers", 3, "how many TestSentinelFailovers makes in a row, at least 3")

	// known is how long a process may hold on to a name that a new master does
	// not know, after it heard that master for the first time. It takes half a
	// second. In a Cluster, requests for other names may hang at a frozen master
	// until their time is over, and a renewal is due 4 s after the last.
	known = flag.Duration("known", 8*time.Second, "how soon a process must know what a failover lost")
)

const (
	dutyTTL = 12 * time.Second
	idleTTL = time.Minute // no renewal is due while the master changes
)

// force is how a master ends.
type force struct {
	lag    bool // what was written last has not reached the replicas
	freeze bool // it does not end, but freezes and wakes up when all is over
}

func (f force) String() string {
	return map[bool]string{false: "killed", true: "frozen"}[f.freeze] + map[bool]string{false: "", true: ", replicas behind"}[f.lag]
}

// Masters behind Sentinel die and freeze, one after the other, while processes
// with both drivers work: four that take names in turns and keep others, two
// that only keep some. Everything goes on by itself; what the new master does
// not know is known as lost soon after a process heard it; and tokens rise on,
// though locks and fences get lost.
func TestSentinelFailovers(t *testing.T) {
	t.Parallel()
	watched := redistest.Sentinel(t, 2)
	workers := hire(t, watched.URL(), 4, 2, idleTTL, func(process, i int) string { return fmt.Sprint("kept-", process, "-", i) }, []string{"s0", "s1", "s2"})
	for _, sentinel := range watched.Sentinels { // the machine may be busy
		sentinel.MustDo(t, "SENTINEL", "SET", redistest.SentinelMaster, "down-after-milliseconds", 1000)
	}
	forces := []force{{lag: true}, {lag: true, freeze: true}, {}, {freeze: true}}
	for n := range *failovers {
		if before := now(); watched.Whole(t) {
			workers.unforced(before)
		}
		f := forces[n%len(forces)]
		if n > 2 { // most with losses
			f.lag = n%5 != 0
		}
		round := workers.strike(t, f, nil, watched.Master, watched.Replicas, func() { watched.Promoted(t) })
		old := round.master
		if f.freeze {
			redistest.ThawAll(t, old)
		} else if err := old.Restart(false); err != nil {
			t.Fatal(err)
		}
		if n%10 != 3 { // there the sentinels do it, and it takes writes until then
			watched.Follow(t, old)
		}
		round.log(t, n)
	}
	time.Sleep(*known) // the last losses
	workers.dismiss(t)
}

// workerSet is the processes of such a test.
type workerSet struct {
	processes []*process
	duties    []duty
	glance    string // a name that nobody else wants
	rounds    []*round
}

// round is one failover as it was seen.
type round struct {
	force    force
	master   *redistest.Server // the old one
	lost     int               // fences that the replicas lack
	began    int64
	promoted int64
	sights   []sight // by process
}

// hire starts processes that work and some that only keep names, and returns
// when all keep theirs.
func hire(t *testing.T, url string, workers, keepers int, idle time.Duration, kept func(process, i int) string, shared []string) *workerSet {
	t.Helper()
	c := &workerSet{glance: "glance"}
	dir := t.TempDir()
	for i := range workers + keepers {
		d := duty{TTL: idle, Records: filepath.Join(dir, fmt.Sprint("stays", i))}
		for k := range 12 {
			d.Kept = append(d.Kept, kept(i, k))
		}
		if i < workers {
			d.TTL, d.Shared, d.Callers = dutyTTL, shared, 2
		}
		c.duties = append(c.duties, d)
		c.processes = append(c.processes, startProcess(t, setting{URL: url, Driver: i % len(clienttest.Drivers), Owner: fmt.Sprint("P", i), TTL: d.TTL}))
	}
	for i, p := range c.processes {
		p.ready.wait()
		p.order(order{Do: "mark"}).wait()
		p.order(order{Do: "serve", Duty: c.duties[i], Load: load{Process: i}}).wait()
	}
	c.all(t, order{Do: "recover"})
	return c
}

// all gives everybody an order and returns the answers.
func (c *workerSet) all(t *testing.T, o order) []reply {
	t.Helper()
	var calls []call
	for _, p := range c.processes {
		calls = append(calls, p.order(o))
	}
	var replies []reply
	for _, call := range calls {
		r := call.within(2 * clienttest.Patience)
		if r.Err != "" {
			t.Fatalf("%s: %s: %s", call.p.owner, o.Do, r.Err)
		}
		replies = append(replies, r)
	}
	return replies
}

// strike ends a master and waits until everybody has recovered. names are those
// that lived there; nil: all.
func (c *workerSet) strike(t *testing.T, f force, names []string, master *redistest.Server, replicas []*redistest.Server, promoted func()) *round {
	t.Helper()
	r := &round{force: f, master: master}
	replicas = append([]*redistest.Server(nil), replicas...)
	if f.lag {
		redistest.CutReplicas(t, master, replicas...)
		c.all(t, order{Do: "relock"})
	}
	fences := c.fences(t, master)
	r.began = now()
	if f.freeze {
		if err := master.Freeze(); err != nil {
			t.Fatal(err)
		}
	} else {
		master.Kill()
	}
	c.all(t, order{Do: "mark", Names: names})
	if f.lag {
		redistest.ThawAll(t, replicas...)
		behind := c.fences(t, replicas[0])
		for name, fence := range fences {
			if behind[name] != fence {
				r.lost++
			}
		}
	}
	promoted()
	r.promoted = now()
	c.all(t, order{Do: "glance", Name: c.glance}) // who has nothing to ask hears the new master, too
	for _, reply := range c.all(t, order{Do: "recover"}) {
		r.sights = append(r.sights, reply.Sight)
	}
	// What is lost and not known yet comes to light with the next renewal.
	var last int64
	for _, s := range r.sights {
		last = max(last, s.Seen)
	}
	time.Sleep(time.Until(time.Unix(0, last).Add(*known + dutyTTL/3)))
	for i, reply := range c.all(t, order{Do: "losses", Since: r.began}) {
		r.sights[i].Losses = reply.Sight.Losses
	}
	c.rounds = append(c.rounds, r)
	return r
}

// unforced notes a failover that the sentinels began by themselves.
func (c *workerSet) unforced(since int64) {
	r := &round{began: since - clienttest.Patience.Nanoseconds()}
	for range c.processes {
		r.sights = append(r.sights, sight{Seen: now(), Recovered: r.began})
	}
	c.rounds = append(c.rounds, r)
}

// fences are the fences of the kept names that a server has.
func (c *workerSet) fences(t *testing.T, server *redistest.Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, d := range c.duties {
		for _, name := range d.Kept {
			fence, err := server.Do("GET", clienttest.FenceKey(name))
			if err != nil { // in a Cluster it may be a replica now
				fence, err = server.DoHere("GET", clienttest.FenceKey(name))
			}
			if err == nil {
				all[name] = fence
			}
		}
	}
	return all
}

func (r *round) log(t *testing.T, n int) {
	t.Helper()
	var text []string
	for _, s := range r.sights {
		latest, kept := int64(0), 0
		for _, l := range s.Losses {
			if l.Kept {
				latest = max(latest, l.Ended-s.Seen)
				kept++
			}
		}
		text = append(text, fmt.Sprintf("%v/%v/%d:%v", time.Duration(s.Seen-r.began).Round(time.Millisecond),
			time.Duration(s.Recovered-r.began).Round(time.Millisecond), kept, time.Duration(latest).Round(time.Millisecond)))
	}
	t.Logf("%d %v: promoted after %v, fences lost %d; seen/recovered/losses:known after: %s", n, r.force,
		time.Duration(r.promoted-r.began).Round(time.Millisecond), r.lost, strings.Join(text, " "))
}
