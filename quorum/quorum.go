// Package quorum makes, changes and shows quorums: independent masters on which
// [holdfast.NewQuorum] locks. docs/quorum.md has the rules.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Member is a master that is or will be a node of a quorum. Address identifies it
// to people and in later calls, usually as host:port. A nil Store means that the member
// is unreachable.
type Member struct {
	Address string
	Store   driver.Store
}

// Node is the state of one member of a quorum.
type Node struct {
	Address    string
	Err        error         // the member did not answer or cannot be a node
	Run        string        // identifies the run of the server process
	Uptime     time.Duration // of this run
	Persistent bool          // it has an append-only file: a restart loses little
	Quorum     string        // its quorum-id; empty if none
	Successor  string        // id of the quorum that has replaced Quorum
	Restarted  bool          // since the last request for a vote
	VotesIn    time.Duration // time until it votes; 0 if it votes now
}

// Inspect asks each member in parallel for its state and changes nothing. ctx
// bounds the wait for members that do not answer.
func Inspect(ctx context.Context, members ...Member) []Node {
	return eachMember(members, func(m Member) Node {
		node := Node{Address: m.Address}
		reply, err := m.eval(ctx, script.QuorumInspect)
		if err == nil {
			err = node.read(reply)
		}
		node.Err = err
		return node
	})
}

func eachMember[T any](members []Member, do func(Member) T) []T {
	results := make([]T, len(members))
	done := make(chan struct{})
	for i, m := range members {
		go func() {
			results[i] = do(m)
			done <- struct{}{}
		}()
	}
	for range members {
		<-done
	}
	return results
}

var errNotOpen = errors.New("can't be reached")

// eval returns at the end of ctx, also if the driver does not.
func (m Member) eval(ctx context.Context, s *driver.Script, args ...string) ([]string, error) {
	if m.Store == nil {
		return nil, errNotOpen
	}
	reply, err := (&call.Caller{Store: m.Store, Life: context.Background()}).Run(ctx, 5*time.Second, driver.Call{Script: s, Keys: []string{keyspace.Marker}, Args: args})
	if said, ok := wire.AsServerError(err); ok {
		return nil, wire.Explain(said, keyspace.Marker)
	}
	return reply, wire.WithoutContext(err)
}

// read takes the reply of quorum/inspect: us, run, uptime in seconds, whether there
// is an append-only file, and the marker's quorum-id, run and end of sitting out.
func (n *Node) read(reply []string) error {
	if len(reply) != 8 || reply[0] != "node" {
		return errors.New("quorum/inspect: unexpected answer")
	}
	us, err := strconv.ParseInt(reply[1], 10, 64)
	uptime, err2 := strconv.ParseInt(reply[3], 10, 32)
	till, err3 := strconv.ParseInt(reply[7], 10, 64)
	if err := errors.Join(err, err2, err3); err != nil {
		return fmt.Errorf("quorum/inspect: unexpected answer: %w", err)
	}
	n.Run, n.Uptime, n.Persistent = reply[2], time.Duration(uptime)*time.Second, reply[4] == "1"
	n.Quorum, n.Successor, _ = strings.Cut(reply[5], ">")
	if n.Quorum == "" {
		return nil
	}
	n.Restarted = reply[6] != n.Run
	n.VotesIn = min(max(0, time.Duration(till-us)*time.Microsecond), holdfast.MaxQuorumTTL)
	if n.Restarted {
		n.VotesIn = holdfast.MaxQuorumTTL
	}
	return nil
}

// Init makes a quorum of members that belong to none, and returns its quorum-id
// for [holdfast.NewQuorum]. Every member must answer and must be a separate server. After
// an error, call it again with the same members.
//
// The nodes vote only after [holdfast.MaxQuorumTTL], because they may have lost the votes of an
// earlier quorum. Set atOnce to skip that time if no client ever locked on them.
func Init(ctx context.Context, name string, atOnce bool, members ...Member) (string, error) {
	if !keyspace.IsQuorumName(name) {
		return "", fmt.Errorf("holdfast: bad name of a quorum: %q: use at most 64 letters, digits, - and _", keyspace.Shorten(name))
	}
	if err := checkMembers(members); err != nil {
		return "", err
	}
	id := newID(name, 1, members)
	nodes := Inspect(ctx, members...)
	if err := checkDistinct(nodes); err != nil {
		return "", err
	}
	for _, n := range nodes {
		if n.Quorum != "" && (n.Quorum != id.String() || n.Successor != "") {
			return "", fmt.Errorf("holdfast: %s is already a node of %s: use 'holdfast quorum replace' to change members", n.Address, n.Quorum)
		}
	}
	wait := holdfast.MaxQuorumTTL
	if atOnce {
		wait = 0
	}
	return id.String(), mark(ctx, members, id.String(), wait, "")
}

func checkMembers(members []Member) error {
	if len(members) < 3 || len(members)%2 == 0 {
		return fmt.Errorf("holdfast: %d members: a quorum needs an odd number, 3 or more (one more member than an odd number tolerates no more failures)", len(members))
	}
	for i, m := range members {
		if m.Store != nil && m.Store.Sharded() {
			return fmt.Errorf("holdfast: %s is a Redis Cluster: a node of a quorum is one master", m.Address)
		}
		for _, other := range members[:i] {
			if other.Address == m.Address {
				return fmt.Errorf("holdfast: %s is given twice", m.Address)
			}
		}
	}
	return nil
}

// checkDistinct returns an error unless all nodes answer and are different servers.
func checkDistinct(nodes []Node) error {
	for i, n := range nodes {
		if n.Err != nil {
			return fmt.Errorf("holdfast: %s: %w", n.Address, n.Err)
		}
		for _, other := range nodes[:i] {
			if other.Run == n.Run {
				return fmt.Errorf("holdfast: %s and %s are the same server", other.Address, n.Address)
			}
		}
	}
	return nil
}

// mark gives members a mark, where they have one of those that it may replace.
func mark(ctx context.Context, members []Member, id string, wait time.Duration, replaces ...string) error {
	return errors.Join(eachMember(members, func(m Member) error {
		_, err := m.mark(ctx, id, wait, replaces...)
		return err
	})...)
}

// mark is mark for one member. It returns the run of the server that answered, also if
// the member has another mark.
func (m Member) mark(ctx context.Context, id string, wait time.Duration, replaces ...string) (run string, err error) {
	reply, err := m.eval(ctx, script.QuorumMark, append([]string{id, strconv.FormatInt(wait.Milliseconds(), 10)}, replaces...)...)
	var a wire.Answer
	if err == nil {
		a, err = wire.DecodeAnswer(reply)
	}
	if err == nil && a.Word != wire.Marked {
		err = &wire.NotMember{Want: id, Mark: a.Mark}
	}
	if err != nil {
		err = fmt.Errorf("holdfast: %s: %w", m.Address, err)
	}
	return a.Run, err
}

// newID makes the quorum-id of a list of members.
func newID(name string, epoch int, members []Member) keyspace.QuorumID {
	addresses := make([]string, len(members))
	for i, m := range members {
		addresses[i] = m.Address
	}
	return keyspace.NewQuorumID(name, epoch, addresses)
}

// Size returns the number of members of the quorum with this quorum-id, or 0 if id is not
// a quorum-id.
func Size(id string) int {
	parsed, err := keyspace.ParseQuorumID(id)
	if err != nil {
		return 0
	}
	return parsed.Size
}
