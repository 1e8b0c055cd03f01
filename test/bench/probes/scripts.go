package probes

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// step is one script. In its name, keys and arguments, N is the number of the name.
type step struct {
	name   string
	script *driver.Script
	keys   string
	args   []string
}

const (
	id      = "c.N.60000|o"
	shared  = "c.N.60000.s1|o"
	ofFive  = "demo/1/3-0123456789"
	inBatch = "b1{N} bf1{N} b2{N} bf2{N} b3{N} bf3{N} b4{N} bf4{N} bq1{N} bq2{N} bq3{N} bq4{N}"
)

// steps run one after the other, each for all names: what one takes, a later one ends.
var steps = []step{
	{"lock", script.Lock, "l{N} f{N} q{N}", []string{id}},
	{"renew", script.Renew, "l{N} q{N} r{N}", []string{id}},
	{"unlock", script.Unlock, "l{N} f{N} q{N}", []string{id}},
	{"lock, shared", script.SharedLock, "sl{N} sf{N} sq{N} sh{N}", []string{shared, "4", "try", "0", ""}},
	{"renew, shared", script.SharedRenew, "sl{N} sf{N} sq{N} sh{N} sr{N}", []string{shared}},
	{"unlock, shared", script.SharedUnlock, "sl{N} sf{N} sq{N} sh{N}", []string{shared}},
	{"lock, quorum", script.QuorumLock, "ql{N} qf{N} marker w{N}", []string{id, "1", ofFive, "0"}},
	{"renew, quorum", script.QuorumRenew, "ql{N} qf{N} marker", []string{id, "1", ofFive}},
	{"unlock, quorum", script.QuorumUnlock, "ql{N} w{N}", []string{id}},
	{"journal entry", script.JournalWrite, "stream sums counted", []string{"1000", "60000", "w", "N", "1", "2", "3", "granted", "name", "o", "7", ""}},
	{"lock of 4 names", script.LockBatch, inBatch, []string{id, "60000", id, "60000", id, "60000", id, "60000"}},
	{"unlock of 4 names", script.LockBatch, inBatch, []string{id, "", id, "", id, "", id, ""}},
	{"minimal lock with a token", minimalLock, "ml{N} mf{N} mq{N}", []string{id, "60000"}},
	{"minimal unlock", minimalUnlock, "ml{N} mf{N} mq{N}", []string{id}},
	{"lock before a wait", script.Lock, "hl{N} hf{N} hq{N}", []string{id}},
	{"wait", script.Lock, "hl{N} hf{N} hq{N}", []string{"d.N.60000|o", "wait"}},
	{"unlock with a dead waiter", script.Unlock, "hl{N} hf{N} hq{N}", []string{id}},
}

// The minimal lock makes a token above every token before, and above the server's clock, so that it
// rises even if the newest was lost. Both scripts refuse a name with a queue, as a lock must.
var (
	minimalLock = driver.NewScript("minimal_lock", `
if redis.call("ZCARD", KEYS[3]) > 0 then return false end
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[2])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
token = string.format("%.0f", token)
redis.call("SET", KEYS[2], token, "PX", "86400000")
return token`)
	minimalUnlock = driver.NewScript("minimal_unlock", `
if redis.call("GET", KEYS[1]) ~= ARGV[1] or redis.call("ZCARD", KEYS[3]) > 0 then return 0 end
return redis.call("DEL", KEYS[1])`)
)

// scripts is what each script costs the server: the time of a call by its own count, the least of
// many rounds, and the commands that it runs, itself included. Calls are pipelined.
func scripts(p *probe) {
	const names = 500
	check(p.rc.Eval(p.ctx, script.QuorumMark.Source, []string{"marker"}, ofFive, "0", "").Err())
	for _, s := range steps {
		check(p.rc.ScriptLoad(p.ctx, s.script.Source).Err())
		p.figures[s.name+", in Redis, µs"] = math.Inf(1)
	}
	for range p.size(30, 1) {
		for _, s := range steps {
			pipe := p.rc.Pipeline()
			for n := range names {
				number := strings.NewReplacer("N", strconv.Itoa(n))
				var args []any
				for _, a := range s.args {
					args = append(args, number.Replace(a))
				}
				pipe.EvalSha(p.ctx, s.script.SHA, strings.Fields(number.Replace(s.keys)), args...)
			}
			from := p.counters()
			must(pipe.Exec(p.ctx))
			to := p.counters()
			us := fmt.Sprint(s.name, ", in Redis, µs")
			p.figures[us] = min(p.figures[us], to.PerScript(from))
			calls, inside := to.PerSecond(from, nil)
			p.figures[s.name+", commands"] = math.Round(10*(1+inside/calls)) / 10
		}
	}
}
