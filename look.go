package holdfast

import (
	"strconv"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// look is one name on its way to a State: what is to be asked next, until it is done.
type look struct {
	c    *core
	name string
	k    *keyspace.Keys
	args []string
	call driver.Call
	bare error // the refusal to let us see R and T

	done  bool
	state *State
	err   error
}

// newLook begins to look at a name, of whose waiters at most so many are listed.
func (c *core) newLook(name string, k *keyspace.Keys, most int) *look {
	l := &look{c: c, name: name, k: k, args: []string{strconv.Itoa(most), c.shardOf(k)}}
	l.call = driver.Call{Script: script.Inspect, Keys: append(k.WithRevocation(), k.WithTerm()[1], k.Size()), Args: l.args}
	return l
}

// heard takes an answer, and makes the next call if that was not the last.
func (l *look) heard(reply []string, err error) {
	said, refused := wire.AsServerError(err)
	switch sized := len(l.k) + 3; {
	case refused && len(l.call.Keys) == sized && wire.Denied(string(said)):
		l.call.Keys = l.call.Keys[:sized-1] // a user that may not read sizes sees the rest
		return
	case refused && l.bare == nil && wire.Denied(string(said)):
		l.bare = wire.Explain(said, l.k.Lock()) // who may see the lock alone sees that
		l.call.Keys = l.k[:]
		return
	case err == nil && len(reply) > 0 && reply[0] == "other kind" && l.call.Script == script.Inspect:
		l.call = driver.Call{Script: script.SharedInspect, Keys: l.k.WithHolders(), Args: l.args}
		return
	}
	l.done = true
	switch {
	case refused:
		l.err = wire.Failure(l.name, nil, wire.Explain(said, l.k.Lock()))
	case err != nil:
		l.err = wire.Failure(l.name, ErrUnreachable, err)
	default:
		if l.state, err = l.c.decodeState(l.name, reply); err != nil {
			l.state, l.err = nil, wire.Failure(l.name, nil, err)
			return
		}
		l.state.Key = l.k.Lock()
		if l.state.Kind == KindMutex {
			l.state.Unreadable = l.bare
		}
	}
}
