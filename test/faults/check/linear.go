package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// operation is what is done to a name, as a lock register sees it: it takes a weight,
// or gives it back. A lease is two operations. Its end is the release, or the expiry,
// which may happen at any time after the deadline: such an operation stays open.
type operation struct {
	lease *Lease
	rank  int // of its token among those of the name
	ends  bool
}

// use is the state of the model: what of a name is in use, and how often it was
// taken.
type use struct {
	weight int64
	taken  int
}

// register is the model. To take more than there is is no step of it, nor, where
// tokens are given in the order of grants, to take out of the order of tokens.
// (The rank instead of the newest token leaves the search nothing to try.)
func register(ordered bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return use{} },
		Step: func(state, input, _ any) (bool, any) {
			u, o := state.(use), input.(operation)
			if o.ends {
				u.weight -= o.lease.Weight
				return true, u
			}
			if ordered && o.rank != u.taken {
				return false, u
			}
			u.weight, u.taken = u.weight+o.lease.Weight, u.taken+1
			return u.weight <= o.lease.Capacity, u
		},
		DescribeOperation: func(input, _ any) string {
			o := input.(operation)
			if o.ends {
				return fmt.Sprintf("end of %d (%s)", o.lease.Attempt, o.lease.Result)
			}
			return fmt.Sprintf("%s: %s %d of %d, attempt %d, token %d", o.lease.Process, o.lease.Kind, o.lease.Weight, o.lease.Capacity, o.lease.Attempt, o.lease.Token)
		},
		DescribeState: func(state any) string {
			u := state.(use)
			return fmt.Sprintf("%d in use, taken %d times", u.weight, u.taken)
		},
	}
}

// Linear wants an order of the leases of each name in which a lock would have given
// them. In it each operation is at one moment between its beginning and its end, and tokens
// rise. Exclusion and Tokens compare times; this finds one order that explains both, or
// proves that there is none. draw, if not nil, gets a picture of what has none. unknown
// counts the names that could not be decided within the limit.
func Linear(h *History, r Rules, limit time.Duration, draw func(name string, info porcupine.LinearizationInfo, model porcupine.Model)) (found []Violation, unknown int) {
	if r.Loses {
		return nil, 0
	}
	for name, leases := range h.byName() {
		// With WaitReplicas each part of a shared kind gets its token by a renewal of
		// its own, in any order.
		ordered := !r.Replicas || !slices.ContainsFunc(leases, func(l *Lease) bool { return l.Mode == history.Shared })
		model := register(ordered)
		verdict, info := porcupine.CheckOperationsVerbose(model, operations(leases), limit)
		switch verdict {
		case porcupine.Unknown:
			unknown++
		case porcupine.Illegal:
			v := Violation{Checker: "linear", Text: name + ": no order of its leases is that of a lock"}
			found = append(found, v)
			if draw != nil {
				draw(name, info, model)
			}
		}
	}
	return found, unknown
}

// operations are those of leases. A call that got nothing did nothing: what Redis may have
// given to nobody's knowledge keeps others out and breaks no promise here.
func operations(leases []*Lease) []porcupine.Operation {
	leases = slices.DeleteFunc(slices.Clone(leases), func(l *Lease) bool { return l.Until() <= l.Granted }) // over when it came
	slices.SortFunc(leases, func(a, b *Lease) int { return cmp.Compare(a.Token, b.Token) })
	clients := map[string]int{}
	var all []porcupine.Operation
	for rank, l := range leases {
		client, known := clients[l.Process]
		if !known {
			client = len(clients)
			clients[l.Process] = client
		}
		until := forever
		if l.Result == history.OK {
			until = l.Released
		}
		all = append(all,
			porcupine.Operation{ClientId: client, Input: operation{l, rank, false}, Call: l.Asked, Return: l.Granted},
			porcupine.Operation{ClientId: client, Input: operation{l, rank, true}, Call: l.Until(), Return: until})
	}
	return all
}
