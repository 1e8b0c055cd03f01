package holdfast

import (
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// sharedHead is how many fields stand before the holders in what shared_inspect answers.
const sharedHead = 9

func partOf(id keyspace.ID) Part {
	switch id.Letter {
	case keyspace.Permits:
		return Part{Permits: int(id.Weight)}
	case keyspace.Reader:
		return Part{Reads: true}
	case keyspace.Writer:
		return Part{Writes: true}
	}
	return Part{}
}

// decodeShared reads what the keys of a lock of a shared kind say:
// shared us kind capacity used F holding waiting listed, then id and ms left of
// each listed holder, then the waiters.
func (c *core) decodeShared(name string, reply []string) (*State, error) {
	if len(reply) < sharedHead {
		return nil, errState
	}
	var us, capacity, used, fence, holding, waiting, listed int64
	for i, figure := range map[int]*int64{1: &us, 3: &capacity, 4: &used, 5: &fence, 6: &holding, 7: &waiting, 8: &listed} {
		n, err := strconv.ParseInt(reply[i], 10, 64)
		if err != nil || n < 0 || n > wire.MaxToken {
			return nil, fmt.Errorf("%w: %q is no number", errState, keyspace.Shorten(reply[i]))
		}
		*figure = n
	}
	rest := reply[sharedHead:]
	if int64(len(rest)) < 2*listed || (int64(len(rest))-2*listed)%3 != 0 {
		return nil, errState
	}
	s := &State{
		Name: name, Kind: Kind(reply[2]), At: time.UnixMicro(us), Token: fence,
		Holding: int(holding), Waiting: int(waiting),
	}
	if s.Kind == "" { // given back since it was asked what it is
		s.Kind = KindMutex
	}
	if s.Kind == KindSemaphore {
		s.Size, s.Used = int(capacity), int(used)
	}
	for ; listed > 0; listed-- {
		ms, err := strconv.ParseInt(rest[1], 10, 64)
		if err != nil || ms > wire.MaxToken/1000 {
			return nil, fmt.Errorf("%w: %q is no time", errState, keyspace.Shorten(rest[1]))
		}
		id, _ := keyspace.ParseID(rest[0])
		s.Holders = append(s.Holders, Holder{
			Owner: id.Owner, Hash: keyspace.HashID(rest[0]), Own: id.Client == c.client,
			Remaining: time.Duration(ms) * time.Millisecond, TTL: id.TTL, Part: partOf(id),
			Client: keyspace.HashClient(id.Client), client: id.Client,
		})
		rest = rest[2:]
	}
	if len(s.Holders) > 0 {
		s.Holder = &s.Holders[0]
	}
	return s, c.decodeWaiters(s, us, rest)
}
