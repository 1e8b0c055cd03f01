package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ErrStale means that a newer lease has written, so the write with this token was
// refused. It is an [ErrLost], too. A [*StaleError] has both tokens.
var ErrStale = errors.New("holdfast: stale token")

// StaleError has the tokens of an [ErrStale].
type StaleError struct {
	Name   string // of the lock, or of a resource of package fence
	Token  int64  // refused token
	Newest int64  // token that has written; 0 if unknown
}

func (e *StaleError) Error() string {
	if e.Newest == 0 {
		return fmt.Sprintf("holdfast: %s: token %d is stale: a newer token has written", e.Name, e.Token)
	}
	return fmt.Sprintf("holdfast: %s: token %d is stale: token %d has written", e.Name, e.Token, e.Newest)
}

// Unwrap returns [ErrStale] and [ErrLost].
func (e *StaleError) Unwrap() []error { return []error{ErrStale, ErrLost} }

// Eval runs a Lua script in Redis if this lease is held there and no newer lease has
// called Eval. Check and script are one atomic step. So a delayed write cannot follow
// the writes of a later holder that has called Eval. Call Eval before you read the data
// that you will change, or read it in the script. For data outside this Redis, see
// package fence.
//
// The script gets keys as KEYS and args as ARGV. It is any Lua that EVAL accepts,
// without a "#!" line. The keys must not contain the key of the lock, nor keys that
// begin with "holdfast/". In a Cluster all keys must have the hash slot of the lock's
// key, which is prefix and name. Redis caches each script, so pass values in args.
//
// The result is the reply as a list of strings. A reply that is not a table has one
// element, and nil has none. A nested table is an error after the script ran: use
// cjson.encode.
//
// A nil error means that the script ran to its end. After a [*LostError] or
// [*StaleError] it did not run. A [driver.ServerError] is the error of the script or the
// refusal of the server. Writes before an error in the script remain. TRYAGAIN, while a
// Cluster moves the slot of the keys, and OOM are such refusals: repeat Eval after a
// while. After [ErrUnreachable] or the error of ctx, the script may have run, or may run while the
// lease lasts. Eval does not retry it. A client library that repeats calls by itself
// may run it twice, such as go-redis with a client that the driver did not make.
//
// Eval does not wait for [Options.WaitReplicas]: a failover can lose the write. A
// lease of a quorum returns an error.
func (l *Lease) Eval(ctx context.Context, source string, keys, args []string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, u, n := l.client, l.turn, l.turn.Name
	if err := c.lacks(n.Text, "Lease.Eval (package fence checks the token where you write)"); err != nil {
		return nil, err
	}
	if n.Kind.Shared() {
		return nil, machine.MutexOnly(n.Text, "Lease.Eval")
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	if err := validateEval(source, n.Keys, keys, c.engine.Sharded); err != nil {
		return nil, fmt.Errorf("holdfast: %s: %w", n.Text, err)
	}
	call := driver.Call{
		Script: c.scripts.of(source),
		Keys:   append([]string{n.Keys.Lock(), n.Keys.Written()}, keys...),
		Args:   append([]string{u.Tenure.ID, wire.Itoa(u.Token)}, args...),
	}
	reply, err := c.engine.Calls.Run(ctx, c.engine.Patience(), call)
	said, refused := wire.AsServerError(err)
	switch {
	case err == nil:
		return reply, nil
	case refused:
		return nil, l.evalRefused(said)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, wire.Failure(n.Text, ErrUnreachable, err)
}

// evalRefused converts an error of the check in Redis. It returns errors of the script and of
// the server as they are.
func (l *Lease) evalRefused(said driver.ServerError) error {
	u := l.turn
	verdict, _ := strings.CutPrefix(string(said), "HOLDFAST ")
	switch kind, about, _ := strings.Cut(verdict, ": "); {
	case kind == "stale":
		newest, _ := strconv.ParseInt(about, 10, 64)
		return &StaleError{Name: l.Name(), Token: u.Token, Newest: newest}
	case verdict == "lost: gone" || verdict == "lost: taken":
		l.client.engine.RenewNow(u)
		if err := l.Err(); err != nil {
			return err
		}
		return &LostError{Name: l.Name(), Token: u.Token, Cause: Cause(about)}
	}
	return said
}

// evalScripts remembers the scripts of Lease.Eval, with the check before them and their SHA, so
// that only the first use of a script pays for these. A program has a handful. One that makes a
// new script for each call fills the memory of Redis, so evalScripts is bounded. The zero value
// is ready.
type evalScripts struct {
	mu    sync.Mutex // protects the rest
	known map[string]*driver.Script
	size  int // bytes of their sources
}

const (
	maxEvalScripts = 128
	maxEvalSize    = 1 << 20
)

// of returns the script that runs source if the lease is held.
func (e *evalScripts) of(source string) *driver.Script {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.known[source]; s != nil {
		return s
	}
	if e.size += len(source); e.known == nil || len(e.known) == maxEvalScripts || e.size > maxEvalSize {
		e.known, e.size = make(map[string]*driver.Script), len(source)
	}
	s := script.Checked(source)
	e.known[source] = s
	return s
}

// validateEval returns an error if Eval can't run source with these keys. own are the keys of the
// lock. sharded: the keys are spread over the nodes of a Cluster.
func validateEval(source string, own *keyspace.Keys, keys []string, sharded bool) error {
	if strings.HasPrefix(source, "#!") {
		return errors.New(`a script for Eval can't begin with "#!": holdfast puts code before it, so Redis would not read the flags`)
	}
	l := own.Lock()
	for _, key := range keys {
		switch {
		case key == l || strings.HasPrefix(key, keyspace.Reserved):
			return fmt.Errorf("key %q belongs to the lock: a script for Eval can't use it", keyspace.Shorten(key))
		case sharded && keyspace.Slot(key) != keyspace.Slot(l):
			return fmt.Errorf("key %q is in slot %d of the Cluster, the lock %q in slot %d: all keys of a script must be in one slot; give them a common hash tag, such as {%s}", keyspace.Shorten(key), keyspace.Slot(key), keyspace.Shorten(l), keyspace.Slot(l), keyspace.Tag(l))
		}
	}
	return nil
}
