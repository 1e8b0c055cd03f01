package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

const (
	keep    = 7 * 24 * time.Hour // without a leader
	ofACall = 5 * time.Second

	maxName  = 512
	maxValue = 256
	longest  = 10 * 365 * 24 * time.Hour // of a problem
)

// record stores in a hash of Redis which problems were posted and are open. A field is a name.
// Each write has what its leader posted, so a write that is late or runs twice is correct.
type record struct {
	client  *holdfast.Client
	unsaved map[string]string // fields to set; "": to delete

	unreadable int // fields that no leader wrote
}

// noteScript sets and deletes fields, and returns the hash. A hash above 16 MiB is none of a leader:
// it is removed unread, because reading 490 MB stops Redis for seconds.
//
//	KEYS[1]  the hash
//	ARGV     its expiry in ms, then pairs of field and value; the value "" deletes the field
var noteScript = driver.NewScript("notified", `
local bytes = redis.pcall('memory', 'usage', KEYS[1], 'samples', '0')
if type(bytes) == 'number' and bytes > 16777216 then
	redis.call('del', KEYS[1])
end
for i = 2, #ARGV, 2 do
	if ARGV[i + 1] == '' then
		redis.call('hdel', KEYS[1], ARGV[i])
	else
		redis.call('hset', KEYS[1], ARGV[i], ARGV[i + 1])
	end
end
redis.call('pexpire', KEYS[1], ARGV[1])
return redis.call('hgetall', KEYS[1])
`)

// trying remembers, for save, first begins that are about to be posted: if the leader dies or gets
// no answer, nobody knows whether they arrived. It reports whether there are any.
func (r *record) trying(batch []change) (noted bool) {
	for _, c := range batch {
		if c.first && !c.ended {
			r.set(c, true)
			noted = true
		}
	}
	return noted
}

// note remembers what was posted, for save.
func (r *record) note(posted []change) {
	for _, c := range posted {
		r.unsaved[c.Name] = ""
		if !c.ended {
			r.set(c, false)
		}
	}
}

// giveUp forgets, at the next save, failed ends of problems whose begin may have never arrived.
func (r *record) giveUp(failed []change) {
	for _, c := range failed {
		if c.first && c.ended {
			r.unsaved[c.Name] = ""
		}
	}
}

func (r *record) set(c change, tried bool) {
	value, _ := json.Marshal(open{c.Code, c.Since, tried}) // of two texts and a bool
	r.unsaved[c.Name] = string(value)
}

// save writes what is not saved, and returns all that is open. If Redis refuses the write, for
// example because its memory is full, the next save repeats it; what is returned has it.
func (r *record) save(ctx context.Context) (posted map[string]open, err error) {
	fields, err := r.write(ctx, r.unsaved)
	switch {
	case err == nil:
		clear(r.unsaved)
	case len(r.unsaved) > 0:
		if fields, err = r.write(ctx, nil); err != nil {
			return nil, err
		}
		maps.Copy(fields, r.unsaved)
	default:
		return nil, err
	}
	posted = make(map[string]open, len(fields))
	for name, value := range fields {
		if value == "" {
			continue
		}
		o, ok := read(name, value)
		if !ok { // it is removed: a false problem must not hide a true one
			r.unsaved[name] = ""
			r.unreadable++
			continue
		}
		posted[name] = o
	}
	return posted, nil
}

// read reads a field. It is false for what no leader wrote.
func read(name, value string) (o open, ok bool) {
	if len(name) > maxName || len(value) > maxValue || json.Unmarshal([]byte(value), &o) != nil {
		return open{}, false
	}
	return o, seriousness(o.Code) >= 0 && time.Until(o.Since) < keep && time.Since(o.Since) < longest
}

func (r *record) write(ctx context.Context, changed map[string]string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, ofACall)
	defer cancel()
	args := []string{fmt.Sprint(keep.Milliseconds())}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		args = append(args, name, changed[name])
	}
	reply, err := r.client.Store().Eval(ctx, driver.Call{Script: noteScript, Keys: []string{"holdfast/notified:" + r.client.Prefix()}, Args: args})
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string, len(reply)/2)
	for pair := range slices.Chunk(reply, 2) {
		if len(pair) == 2 {
			fields[pair[0]] = pair[1]
		}
	}
	return fields, nil
}
