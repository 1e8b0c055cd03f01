//go:build linux

package faults

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// masters are the servers that say that they are masters now. If they change without a fault, the
// machine was so slow that a failover began by itself.
func masters(p *topology.Topology) (addresses []string) {
	for _, s := range p.Servers {
		if role, err := s.Do("ROLE"); err == nil && strings.HasPrefix(role, "master") {
			addresses = append(addresses, s.Addr())
		}
	}
	slices.Sort(addresses)
	return addresses
}

// caughtUp waits, if clients are in namespaces, until TCP has sent again what was lost. Until then
// the network is not well again.
func caughtUp(p *topology.Topology) (time.Duration, error) {
	if p.Network == nil {
		return 0, nil
	}
	const limit = 20 * time.Second // a history cuts for half of that at most
	return p.Network.CaughtUp(limit)
}

// left is a key that is still there.
type left struct {
	Key   string
	Life  time.Duration // negative: it has no expiry
	IDs   []string      // in it
	Holds bool          // it is the lock key or the holders key, so these hold; else they wait
}

// leftScript lists the keys with a prefix: for each key its name, its remaining ms, whether the ids in it
// hold, and these ids. It leaves out keys that are meant to last, such as the fence, and the lock key of a
// shared kind, whose holders are in the holders key. An entry of the holders key that has expired counts
// as gone: the holders key outlives its entries, and the next lock removes them.
const leftScript = `
local all, t = {}, redis.call('TIME')
local now = t[1] * 1000000 + t[2]
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local kind, ids, holds = redis.call('TYPE', key).ok, {}, '0'
  if string.find(key, '^holdfast/queue:') then
    ids = redis.call('ZRANGE', key, 0, -1)
  elseif string.find(key, '^holdfast/holders:') then
    holds = '1'
    local scores = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #scores, 2 do -- the expiry in microseconds, and a flag above it
      if tonumber(scores[i + 1]) % 4503599627370496 > now then ids[#ids + 1] = scores[i] end
    end
  elseif not string.find(key, '^holdfast/') then
    holds = '1'
    if kind == 'string' then ids = {redis.call('GET', key)} end
  end
  all[#all + 1] = key .. ' ' .. redis.call('PTTL', key) .. ' ' .. holds .. ' ' .. table.concat(ids, ' ')
end
return all`

// keysLeft lists the keys of names, by their prefix, on all servers that are masters.
func keysLeft(p *topology.Topology, prefix string) ([]left, error) {
	var all []left
	for _, s := range p.Servers {
		role, err := s.Do("ROLE")
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(role, "master") {
			continue
		}
		keys, err := s.Do("EVAL", leftScript, 0, "*"+prefix+"*")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(keys) {
			words := strings.Fields(line)
			if len(words) < 3 {
				return nil, fmt.Errorf("a key that can't be read: %q", line)
			}
			ms, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return nil, err
			}
			all = append(all, left{Key: words[0], Life: time.Duration(ms) * time.Millisecond, Holds: words[2] == "1", IDs: words[3:]})
		}
	}
	return all, nil
}

// keysLeft finds all keys of the names with a prefix, with the ids in them and whether they
// expire. A holder that is over is not left.
func TestAllThatIsLeftIsSeen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, command := range []string{
		"SET v1:a c.1.200|m0 PX 100000", "ZADD holdfast/queue:{v1:a} 1 c.2.200|m1 2 c.3.200|m2", "SET holdfast/fence:{v1:a} 77 PX 100000",
		"HSET v1:b kind semaphore", "ZADD holdfast/holders:{v1:b} 1 c.5.200.s1|m4 4400000000000000 c.4.200.s1|m3 8000000000000000 c.6.200.s1|m5", "SET v2:a c.9.200|m9",
	} {
		var args []any
		for _, word := range strings.Fields(command) {
			args = append(args, word)
		}
		server.MustDo(t, args...)
	}
	p := &topology.Topology{Servers: []*redistest.Server{server}}
	found, err := keysLeft(p, "v1:")
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		if found[i].Life > 0 && found[i].Life <= 100*time.Second {
			found[i].Life = time.Second // it ends
		}
		if len(found[i].IDs) == 0 {
			found[i].IDs = nil
		}
	}
	slices.SortFunc(found, func(a, b left) int { return strings.Compare(a.Key, b.Key) })
	want := []left{
		{Key: "holdfast/fence:{v1:a}", Life: time.Second},
		{Key: "holdfast/holders:{v1:b}", Life: -time.Millisecond, Holds: true, IDs: []string{"c.4.200.s1|m3", "c.6.200.s1|m5"}},
		{Key: "holdfast/queue:{v1:a}", Life: -time.Millisecond, IDs: []string{"c.2.200|m1", "c.3.200|m2"}},
		{Key: "v1:a", Life: time.Second, Holds: true, IDs: []string{"c.1.200|m0"}},
		{Key: "v1:b", Life: -time.Millisecond, Holds: true},
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("got\n%+v, want\n%+v", found, want)
	}
}
