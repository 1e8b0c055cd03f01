package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/holdfast-go/holdfast/internal/lab/verify/history"
)

// deed is an operation on a name, as a lock register sees it: it takes a weight,
// or gives it back. A lease is two deeds. Its end is the release, or the expiry,
// which may happen at any time after the deadline: such a deed stays open.
type deed struct {
	lease *Lease
	ends  bool
}

// Register is the model: what of a name is in use. Taking more than there is is no
// step of it.
func register() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			used, d := state.(int64), input.(deed)
			if d.ends {
				return true, used - d.lease.Weight
			}
			used += d.lease.Weight
			return used <= d.lease.Capacity, used
		},
		DescribeOperation: func(input, _ any) string {
			d := input.(deed)
			if d.ends {
				return fmt.Sprintf("end of %d (%s)", d.lease.Attempt, d.lease.Result)
			}
			return fmt.Sprintf("%s: %s %d of %d, attempt %d, token %d", d.lease.Process, d.lease.Kind, d.lease.Weight, d.lease.Capacity, d.lease.Attempt, d.lease.Token)
		},
		DescribeState: func(state any) string { return fmt.Sprint(state, " in use") },
	}
}

// Linear wants that the leases of each name can be put in an order in which a
// lock would have given them, each deed at one moment between its beginning and
// its end. Exclusion compares times; this finds an order or proves that there is
// none. draw, if not nil, is given a picture of what has none. unknown counts the
// names that could not be decided within the limit.
func Linear(s *Story, r Rules, limit time.Duration, draw func(name string, info porcupine.LinearizationInfo, model porcupine.Model)) (found []Violation, unknown int) {
	if r.Loses {
		return nil, 0
	}
	for name, leases := range s.byName() {
		model := register()
		verdict, info := porcupine.CheckOperationsVerbose(model, deeds(leases), limit)
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

// deeds are those of leases. Whoever got nothing did nothing: what Redis may have
// given to nobody's knowledge keeps others out and breaks no promise here.
func deeds(leases []*Lease) []porcupine.Operation {
	clients := map[string]int{}
	var all []porcupine.Operation
	for _, l := range leases {
		client, known := clients[l.Process]
		if !known {
			client = len(clients)
			clients[l.Process] = client
		}
		if l.Until() <= l.Granted {
			continue // over when it came
		}
		until := forever
		if l.Result == history.OK {
			until = l.Released
		}
		all = append(all,
			porcupine.Operation{ClientId: client, Input: deed{l, false}, Call: l.Asked, Return: l.Granted},
			porcupine.Operation{ClientId: client, Input: deed{l, true}, Call: l.Until(), Return: until})
	}
	return slices.Clip(all)
}
