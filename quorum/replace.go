package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/majority"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Replace changes the members of a quorum and returns its new quorum-id for
// [holdfast.NewQuorum], with the epoch one higher.
//
// The list from has all current members; an unreachable member has a nil Store. The
// list to has the members of the new quorum. The addresses in gone are old members that
// are off and will never return with their data: you answer for that. Replace
// does nothing if a member that is to leave neither answers nor is in gone.
//
// The old members leave the old quorum first, so no client with the old id can win a
// name or renew a lease. The new members vote after [holdfast.MaxQuorumTTL], when the last old
// lease has ended. After an error the quorum may give no votes: call Replace
// again with the same members. A repeated call after success informs the old members
// that answer, and returns the same id.
//
// If from and to are equal, members that have lost their data join again. The id stays
// the same, and only those members do not vote for [holdfast.MaxQuorumTTL]. That fails if a
// majority has lost its data.
func Replace(ctx context.Context, from, to []Member, gone ...string) (string, error) {
	if err := errors.Join(checkMembers(from), checkMembers(to)); err != nil {
		return "", err
	}
	nodes := Inspect(ctx, from...)
	old, err := presentID(nodes, from, to)
	if err != nil {
		return "", err
	}
	if newID(old.Name, old.Epoch, to) == old {
		return old.String(), rejoin(ctx, old, nodes, to)
	}
	next := newID(old.Name, old.Epoch+1, to)
	joining := Inspect(ctx, to...)
	if err := checkDistinct(joining); err != nil {
		return "", err
	}
	for _, n := range joining {
		if n.Quorum != "" && n.Quorum != old.String() && n.Quorum != next.String() {
			return "", fmt.Errorf("holdfast: %s is a node of %s", n.Address, n.Quorum)
		}
	}
	if !slices.ContainsFunc(joining, func(n Node) bool { return n.Quorum != next.String() || n.Successor != "" }) {
		_ = fence(ctx, old, next, from, to, gone) // it was done; an old member that was vouched for may answer now
		return next.String(), nil
	}
	if err := unreached(nodes, to, gone); err != nil {
		return "", err
	}
	if err := fence(ctx, old, next, from, to, gone); err != nil {
		return "", err
	}
	if err := mark(ctx, to, next.String(), holdfast.MaxQuorumTTL, "", old.String(), keyspace.Fenced(old, next)); err != nil {
		return "", fmt.Errorf("%w (no node votes until you repeat this and it succeeds)", err)
	}
	return next.String(), nil
}

// presentID is the quorum of the nodes that answer, or their quorum before a replacement that
// has begun.
func presentID(nodes []Node, from, to []Member) (keyspace.QuorumID, error) {
	var other error
	for _, n := range nodes {
		if n.Err != nil || n.Quorum == "" {
			continue
		}
		id, err := keyspace.ParseQuorumID(n.Quorum)
		switch {
		case err != nil:
			return keyspace.QuorumID{}, fmt.Errorf("holdfast: %s: %q %w", n.Address, keyspace.Shorten(n.Quorum), err)
		case id == newID(id.Name, id.Epoch, from):
			return id, nil
		case id == newID(id.Name, id.Epoch, to) && id.Epoch > 1:
			return newID(id.Name, id.Epoch-1, from), nil
		}
		other = fmt.Errorf("holdfast: %s is a node of %s, which has other members: name all %d, also those that are off, as for quorum init or replace", n.Address, id, id.Size)
	}
	if other == nil {
		other = errors.New("holdfast: no old member that answers belongs to a quorum: 'holdfast quorum init' makes a new one")
	}
	return keyspace.QuorumID{}, other
}

// rejoin marks those again that have lost their marker. A majority must have
// kept it: what was voted there is still known.
func rejoin(ctx context.Context, id keyspace.QuorumID, nodes []Node, members []Member) error {
	kept := majority.Distinct(len(nodes), func(i int) (string, bool) {
		return nodes[i].Run, nodes[i].Quorum == id.String() && nodes[i].Successor == ""
	})
	if need := majority.Of(id.Size); kept < need {
		return fmt.Errorf("holdfast: %d of %d members have %s, fewer than %d: a majority may have lost its data. When all clients have stopped for %v, delete the keys %s and run 'holdfast quorum init'",
			kept, id.Size, id, need, holdfast.MaxQuorumTTL, keyspace.Marker)
	}
	if err := checkDistinct(nodes); err != nil {
		return err
	}
	return mark(ctx, members, id.String(), holdfast.MaxQuorumTTL, "")
}

// unreached returns an error if an old member may come back without a mark of the new quorum:
// with another node that has lost its mark it would be the old quorum. A member that stays is
// marked, unless the new quorum has no other members.
func unreached(nodes []Node, to []Member, gone []string) error {
	for _, n := range nodes {
		stays := slices.ContainsFunc(to, func(m Member) bool { return m.Address == n.Address })
		var other *wire.NotMember
		if n.Err != nil && !errors.As(n.Err, &other) && !stays && !slices.Contains(gone, n.Address) {
			return fmt.Errorf("holdfast: the old member %s does not answer, so it cannot leave the quorum: if it has left before, or is off and will never return with its data, name it as gone, else wait until it answers: %w", n.Address, n.Err)
		}
	}
	return nil
}

// fence takes the old members out of the old quorum, a majority at least. One that
// bears the new id already is out.
func fence(ctx context.Context, old, next keyspace.QuorumID, from, to []Member, gone []string) error {
	nodes := eachMember(from, func(m Member) Node {
		run, err := m.mark(ctx, keyspace.Fenced(old, next), 0, old.String())
		var other *wire.NotMember
		if errors.As(err, &other) && other.Mark == next.String() {
			err = nil
		}
		return Node{Address: m.Address, Run: run, Err: err}
	})
	var bad []error
	for _, n := range nodes {
		bad = append(bad, n.Err)
	}
	out := majority.Distinct(len(nodes), func(i int) (string, bool) {
		n := nodes[i]
		if n.Err != nil && slices.Contains(gone, n.Address) {
			return "", true
		}
		return n.Run, n.Err == nil
	})
	if need := majority.Of(old.Size); out < need {
		return fmt.Errorf("holdfast: only %d of the %d old members could be removed from %s, %d are needed: %w", out, old.Size, old, need, errors.Join(bad...))
	}
	return unreached(nodes, to, gone)
}
