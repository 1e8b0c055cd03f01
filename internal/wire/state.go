package wire

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
)

// State is the answer of the scripts that inspect a name, mutex/inspect and
// shared/inspect. It has ids, which are capabilities: it must not be shown.
type State struct {
	Version int    // of the protocol that uses the name, if it is another; then there may be more than the rest says
	Kind    string // of a shared kind; empty: a mutex
	At      time.Time
	Value   string        // of the lock key of a mutex
	Held    bool          // the lock key of a mutex exists
	PTTL    time.Duration // of the lock key of a mutex; negative: it has no expiry
	Token   int64         // newest reserved token
	Term    int64         // of an election
	Leader  string        // newest value of its leader; empty: the owner in Value
	Revoked string        // reason of a revocation
	Size    int64         // of a semaphore
	Used    int64         // permits that are held
	Holding int64         // holders of a shared kind
	Holders []HolderState // the listed ones
	Waiting int64         // waiters in the queue
	Waiters []WaiterState // the listed ones
}

// HolderState is one holder of a shared kind.
type HolderState struct {
	ID        string
	Remaining time.Duration
	Weight    int64 // at most that of the id: a holder can reduce it
}

// WaiterState is one waiter in the queue.
type WaiterState struct {
	ID        string
	Waited    time.Duration
	Listening bool
}

var errState = errors.New("inspect: unexpected answer")

// DecodeState decodes the answer of a script that inspects a name.
func DecodeState(reply []string) (*State, error) {
	if len(reply) > 0 && reply[0] == "shared" {
		return decodeShared(reply)
	}
	if len(reply) < 11 || (len(reply)-11)%3 != 0 || reply[0] != "state" {
		return nil, errState
	}
	version, fence := fenceOf(reply[5])
	reply[5] = fence
	var us, pttl, token, waiting int64
	for i, figure := range map[int]*int64{1: &us, 4: &pttl, 5: &token, 6: &waiting} {
		n, err := strconv.ParseInt(reply[i], 10, 64)
		if err != nil || n > protocol.MaxToken && figure != &pttl {
			return nil, fmt.Errorf("%w: %q is no number", errState, keyspace.Shorten(reply[i]))
		}
		*figure = n
	}
	s := &State{Version: max(version, keyspace.OtherVersion(reply[2])), At: time.UnixMicro(us), Token: token, Waiting: waiting, Value: reply[2], Held: reply[3] == "1"}
	if s.Held {
		s.PTTL, s.Revoked, s.Leader = OfMillis(pttl), reply[8], reply[9]
		if term, err := strconv.ParseInt(reply[7], 10, 64); err == nil && term <= protocol.MaxToken {
			s.Term = term // every client that writes to Redis can write any
		}
	}
	if size, err := strconv.ParseInt(reply[10], 10, 64); err == nil && size > 0 {
		s.Size = size
	}
	return s, s.decodeWaiters(reply[11:])
}

// fenceOf returns the newest token in the answered value of a fence key, or the version of the
// protocol that wrote it, if it is another.
func fenceOf(value string) (version int, token string) {
	if version = keyspace.OtherVersion(value); version > 0 {
		return version, "0"
	}
	return 0, cmp.Or(value, "0") // empty: there is none
}

// sharedHead is the number of fields before the holders in the answer of
// shared/inspect: shared us kind capacity used fence holding waiting listed. Then come
// id, remaining milliseconds and weight of each listed holder, then the waiters.
const sharedHead = 9

func decodeShared(reply []string) (*State, error) {
	if len(reply) < sharedHead {
		return nil, errState
	}
	s := &State{Kind: reply[2]}
	s.Version, reply[5] = fenceOf(reply[5])
	s.Version = max(s.Version, keyspace.OtherVersion(s.Kind))
	var us, listed int64
	for i, figure := range map[int]*int64{1: &us, 3: &s.Size, 4: &s.Used, 5: &s.Token, 6: &s.Holding, 7: &s.Waiting, 8: &listed} {
		n, err := strconv.ParseInt(reply[i], 10, 64)
		if err != nil || n < 0 || n > protocol.MaxToken {
			return nil, fmt.Errorf("%w: %q is no number", errState, keyspace.Shorten(reply[i]))
		}
		*figure = n
	}
	s.At = time.UnixMicro(us)
	rest := reply[sharedHead:]
	if int64(len(rest)) < 3*listed || len(rest)%3 != 0 {
		return nil, errState
	}
	for ; listed > 0; listed-- {
		ms, err := strconv.ParseInt(rest[1], 10, 64)
		if err != nil || ms > protocol.MaxToken/1000 {
			return nil, fmt.Errorf("%w: %q is no time", errState, keyspace.Shorten(rest[1]))
		}
		s.Version = max(s.Version, keyspace.OtherVersion(rest[0]))
		weight, err := strconv.ParseInt(rest[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no weight", errState, keyspace.Shorten(rest[2]))
		}
		s.Holders = append(s.Holders, HolderState{rest[0], OfMillis(ms), weight})
		rest = rest[3:]
	}
	return s, s.decodeWaiters(rest)
}

// decodeWaiters decodes id, arrival and listeners of each waiter.
func (s *State) decodeWaiters(rest []string) error {
	for ; len(rest) > 0; rest = rest[3:] {
		score, err := strconv.ParseFloat(rest[1], 64)
		if err != nil {
			return fmt.Errorf("%w: %q is no arrival", errState, keyspace.Shorten(rest[1]))
		}
		waited := time.Duration(s.At.UnixMicro()-int64(score)) * time.Microsecond
		s.Version = max(s.Version, keyspace.OtherVersion(rest[0]))
		s.Waiters = append(s.Waiters, WaiterState{rest[0], max(0, waited), rest[2] != "0"})
	}
	return nil
}

// Tenure returns the id of the tenure with this hash, or "" if it is not among the
// holders.
func (s *State) Tenure(hash string) (id string) {
	if _, ours := keyspace.ParseID(s.Value); ours && s.Held && keyspace.HashID(s.Value) == hash {
		return s.Value
	}
	for _, h := range s.Holders {
		if keyspace.HashID(h.ID) == hash {
			return h.ID
		}
	}
	return ""
}
