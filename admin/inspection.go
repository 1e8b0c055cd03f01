package admin

import (
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const listed = 1000 // holders and waiters of a name

// inspection is one inspection of a name. It may take several calls: for another kind,
// or with fewer keys if the server's user may not read all of them.
type inspection struct {
	name   string
	own    string
	k      *keyspace.Keys
	args   []string
	call   driver.Call
	denied error // why the revocation and the term cannot be read

	done  bool
	state *State
	err   error
}

// newInspection begins to inspect a name. It lists at most the given number of
// holders and waiters. own is the hash of a Client, or empty.
func newInspection(name, own string, k *keyspace.Keys, shard string, most int) *inspection {
	i := &inspection{name: name, own: own, k: k, args: []string{strconv.Itoa(most), shard}}
	i.call = driver.Call{Script: script.Inspect, Keys: append(k.WithRevocation(), k.Term(), k.Size()), Args: i.args}
	return i
}

// answered takes an answer: it is the result, or there is another call to make.
func (i *inspection) answered(reply []string, err error) {
	said, refusal := wire.AsServerError(err)
	switch sized := len(i.k) + 3; {
	case refusal && len(i.call.Keys) == sized && wire.Denied(string(said)):
		i.call.Keys = i.call.Keys[:sized-1] // a user that may not read sizes sees the rest
		return
	case refusal && i.denied == nil && i.call.Script == script.Inspect && wire.Denied(string(said)):
		i.denied = wire.Explain(said, i.k.Lock()) // a user that may read the lock alone sees the lock
		i.call.Keys = i.k[:]
		return
	case err == nil && len(reply) > 0 && reply[0] == "other kind" && i.call.Script == script.Inspect:
		i.call = driver.Call{Script: script.SharedInspect, Keys: i.k.WithHolders(), Args: i.args}
		return
	}
	i.done = true
	switch {
	case refusal:
		i.err = refused(i.name, wire.Explain(said, i.k.Lock()))
	case err != nil:
		i.err = unreachable(i.name, err)
	default:
		decoded, err := wire.DecodeState(reply)
		if err != nil {
			i.err = refused(i.name, err)
			return
		}
		i.state = newState(i.name, i.own, decoded)
		i.state.Key = strings.Clone(i.k.Lock()) // else it keeps the text of all keys
		if i.state.Kind == holdfast.KindMutex {
			i.state.Unreadable = i.denied
		}
	}
}
