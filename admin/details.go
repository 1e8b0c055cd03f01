package admin

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

const (
	detailsWait = 250 * time.Millisecond
	mostDetails = 256 // Clients that one Inspect asks about
)

// stored is what a Client has stored about its process.
type stored struct {
	holdfast.Details
	Exported []string `json:"exported,omitempty"` // hashes of tenures that no process renews by itself
}

// clientsOf returns the Clients of all that hold or wait, each once.
func clientsOf(states []*State) (ids []string) {
	seen := make(map[string]struct{})
	for _, s := range states {
		room := mostDetails
		add := func(id string) {
			if _, twice := seen[id]; id == "" || twice || room == 0 {
				return
			}
			room--
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
		for _, h := range s.allHolders() {
			add(h.client)
		}
		for i := range s.Waiters {
			add(s.Waiters[i].client)
		}
	}
	return ids
}

// decodeDetails decodes details. Every client that writes to Redis can write any.
func decodeDetails(r driver.Result) *stored {
	if r.Err != nil || len(r.Reply) != 2 || r.Reply[0] != "details" || len(r.Reply[1]) > 16*holdfast.MaxDetail {
		return nil
	}
	var d stored
	if json.Unmarshal([]byte(r.Reply[1]), &d) != nil {
		return nil
	}
	clean := func(s string) string { return keyspace.Clean(s, holdfast.MaxDetail) }
	d.Details = holdfast.Details{
		Host: clean(d.Host), PID: max(0, d.PID), User: clean(d.User),
		Program: clean(d.Program), Command: clean(d.Command), Note: clean(d.Note),
	}
	return &d
}

func (d *stored) details() *holdfast.Details {
	if d.Details == (holdfast.Details{}) {
		return nil
	}
	return &d.Details
}

// addDetails adds what the Clients of holders and waiters have stored about their
// processes, as far as it can be read in detailsWait.
func addDetails(ctx context.Context, caller *call.Caller, states ...*State) {
	ids := clientsOf(states)
	if len(ids) == 0 {
		return
	}
	calls := make([]driver.Call, len(ids))
	for i, id := range ids {
		calls[i] = driver.Call{Script: script.DetailsInspect, Keys: []string{keyspace.Details(id)}}
	}
	known := make(map[string]*stored, len(ids))
	for i, r := range caller.Many(ctx, detailsWait, calls) {
		if d := decodeDetails(r); d != nil {
			known[ids[i]] = d
		}
	}
	if len(known) == 0 {
		return
	}
	for _, s := range states {
		for _, h := range s.allHolders() {
			if d := known[h.client]; d != nil {
				h.Details, h.Exported = d.details(), slices.Contains(d.Exported, h.Hash)
			}
		}
		for i := range s.Waiters {
			if d := known[s.Waiters[i].client]; d != nil {
				s.Waiters[i].Details = d.details()
			}
		}
	}
}
