package admin

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/details"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

const (
	detailsWait = 250 * time.Millisecond
	maxDetails  = 256 // Clients that one Inspect asks about
)

// clientsOf returns the Clients of all that hold or wait, each once.
func clientsOf(states []*State) (ids []string) {
	seen := make(map[string]struct{})
	for _, s := range states {
		room := maxDetails
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
func decodeDetails(r driver.Result) (d details.Stored, ok bool) {
	if r.Err != nil || len(r.Reply) != 2 || r.Reply[0] != "details" {
		return d, false
	}
	return details.Parse(r.Reply[1])
}

// ofProcess returns nil if d says nothing.
func ofProcess(d details.Stored) *holdfast.Details {
	if d.Process == (details.Process{}) {
		return nil
	}
	p := holdfast.Details(d.Process)
	return &p
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
	known := make(map[string]details.Stored, len(ids))
	for i, r := range caller.Many(ctx, detailsWait, calls) {
		if d, ok := decodeDetails(r); ok {
			known[ids[i]] = d
		}
	}
	if len(known) == 0 {
		return
	}
	for _, s := range states {
		for _, h := range s.allHolders() {
			if d, ok := known[h.client]; ok {
				h.Details, h.Exported = ofProcess(d), slices.Contains(d.Exported, h.Hash)
			}
		}
		for i := range s.Waiters {
			if d, ok := known[s.Waiters[i].client]; ok {
				s.Waiters[i].Details = ofProcess(d)
			}
		}
	}
}
