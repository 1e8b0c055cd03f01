// Command scripts measures what each script costs a server, as the time per call that
// INFO commandstats gives, beside the same script of another version:
//
//	git archive REV internal/script/testdata/expanded | tar -x -C /tmp
//	go run ./test/bench/scripts -against /tmp/internal/script/testdata/expanded
//
// Calls are pipelined, and the versions take turns within a round. The least time of
// all rounds counts, because nothing makes a script faster than it is.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const (
	names  = 500 // calls in one pipeline, each of a name of its own
	quorum = "demo/1/3-0123456789"
	id     = "c.N.60000|o"
	shared = "c.N.60000.s1|o"

	inBatch = "b1{N} bf1{N} b2{N} bf2{N} b3{N} bf3{N} b4{N} bf4{N} bq1{N} bq2{N} bq3{N} bq4{N}"
)

// step is one script. In keys and arguments, N is the number of the name.
type step struct {
	script *driver.Script
	keys   string
	args   []string
}

// steps run one after the other, each for all names: what one takes, a later one ends.
var steps = []step{
	{script.Lock, "l{N} f{N} q{N}", []string{id}},
	{script.Renew, "l{N} q{N} r{N}", []string{id}},
	{script.Unlock, "l{N} f{N} q{N}", []string{id}},
	{script.SharedLock, "sl{N} sf{N} sq{N} sh{N}", []string{shared, "4", "try", "0", ""}},
	{script.SharedRenew, "sl{N} sf{N} sq{N} sh{N} sr{N}", []string{shared}},
	{script.SharedUnlock, "sl{N} sf{N} sq{N} sh{N}", []string{shared}},
	{script.QuorumLock, "ql{N} qf{N} marker w{N}", []string{id, "1", quorum, "0"}},
	{script.QuorumRenew, "ql{N} qf{N} marker", []string{id, "1", quorum}},
	{script.QuorumUnlock, "ql{N} w{N}", []string{id}},
	{script.JournalWrite, "stream sums counted", []string{"1000", "60000", "w", "N", "1", "2", "3", "granted", "name", "o", "7", ""}},
	{script.LockBatch, inBatch, []string{id, "60000", id, "60000", id, "60000", id, "60000"}},
	{script.LockBatch, inBatch, []string{id, "", id, "", id, "", id, ""}},
	{script.Lock, "hl{N} hf{N} hq{N}", []string{id}},
	{script.Lock, "hl{N} hf{N} hq{N}", []string{"d.N.60000|o", "wait"}}, // queued
	{script.Unlock, "hl{N} hf{N} hq{N}", []string{id}},                  // nobody listens to the waiter
}

func main() {
	against := flag.String("against", "", "a directory of whole scripts of another version")
	rounds := flag.Int("rounds", 100, "how often each step is measured")
	flag.Parse()
	dir, err := os.MkdirTemp("", "scripts")
	check(err)
	defer os.RemoveAll(dir)
	server, err := redistest.Run(dir, redistest.Options{})
	check(err)
	defer server.Close()
	options, err := redis.ParseURL(server.URL())
	check(err)
	c := redis.NewClient(options)
	defer c.Close()
	check(c.Eval(context.Background(), script.QuorumMark.Source, []string{"marker"}, quorum, "0", "").Err())

	shas, least := load(c, *against), [2][]float64{make([]float64, len(steps)), make([]float64, len(steps))}
	for round := range *rounds {
		for turn := range 2 {
			v := (round + turn) % 2
			for i, s := range steps {
				us := measure(c, shas[v][i], s)
				if round == 0 || us < least[v][i] {
					least[v][i] = us
				}
			}
		}
	}
	for i, s := range steps {
		fmt.Printf("%-14s %6.2f µs, before %6.2f, ratio %.3f\n", s.script.Name, least[0][i], least[1][i], least[0][i]/least[1][i])
	}
}

// load gives the server the scripts of each step: of this version, and of the other.
func load(c *redis.Client, against string) (shas [2][]string) {
	for _, s := range steps {
		texts := [2]string{s.script.Source, s.script.Source}
		if against != "" {
			file := strings.ReplaceAll(script.Find(s.script.Name)[0].Path, "/", "_") + ".lua"
			text, err := os.ReadFile(filepath.Join(against, file))
			check(err)
			texts[1] = string(text)
		}
		for v, text := range texts {
			sha, err := c.ScriptLoad(context.Background(), text).Result()
			check(err)
			shas[v] = append(shas[v], sha)
		}
	}
	return shas
}

var perCall = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// measure runs a step for all names and returns the microseconds of one call.
func measure(c *redis.Client, sha string, s step) float64 {
	ctx := context.Background()
	check(c.ConfigResetStat(ctx).Err())
	p := c.Pipeline()
	for n := range names {
		number := strings.NewReplacer("N", strconv.Itoa(n))
		args := make([]any, len(s.args))
		for i, a := range s.args {
			args[i] = number.Replace(a)
		}
		p.EvalSha(ctx, sha, strings.Fields(number.Replace(s.keys)), args...)
	}
	_, err := p.Exec(ctx)
	check(err)
	info, err := c.Info(ctx, "commandstats").Result()
	check(err)
	m := perCall.FindStringSubmatch(info)
	if m == nil || m[1] != strconv.Itoa(names) {
		log.Fatalf("%s: not %d calls of evalsha: %q", s.script.Name, names, m)
	}
	us, err := strconv.ParseFloat(m[2], 64)
	check(err)
	return us / names
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
