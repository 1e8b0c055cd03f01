// Package terraform serves the lock requests of Terraform's http backend. It stores no state
// files.
package terraform

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/lease"
	"github.com/holdfast-go/holdfast/server/internal/repeat"
	"github.com/holdfast-go/holdfast/server/internal/reply"
	"github.com/holdfast-go/holdfast/server/internal/request"
)

// lockInfo is what Terraform sends about a lock, and wants to read about its holder. It
// may send more one day.
type lockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// label begins the owner of a lock of Terraform. The ID stands in it, so any
// server finds the lock again by that, also after a restart: the owner is all that
// Terraform leaves in the store.
const label = "terraform/"

// plain is an ID that can stand in an owner as it is.
var plain = regexp.MustCompile(`^[0-9a-zA-Z-]{0,40}$`)

// labelOf is the beginning of the owner of the lock with an ID.
func labelOf(id string) string {
	if !plain.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:16])
	}
	return label + id
}

// labelled splits an owner into the ID and the user; ok is false if it is not Terraform's.
func labelled(owner string) (id, by string, ok bool) {
	rest, ok := strings.CutPrefix(owner, label)
	id, by, _ = strings.Cut(rest, " ")
	return id, by, ok
}

// Locks serves the locks of Terraform.
type Locks struct {
	*lease.Leases
	TTL time.Duration // of a lock, which Terraform does not renew

	taken *repeat.Memory
}

// New makes Locks.
func New(l *lease.Leases, ttl time.Duration) *Locks { return &Locks{l, ttl, repeat.New(true)} }

// Lock takes the lock: 200, also for the holder, since Terraform asks again when an
// answer was lost; 423 with what is known of another holder.
//
// Which ID holds it is remembered here, and not read from the owner in the store: that may be
// of an attempt that failed (its answer was late, its client went away), which
// is being given back, at any moment and perhaps by another server. So after a lost
// answer another server says 423 with the ID that asks: force-unlock ends that.
func (l *Locks) Lock(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	info, err := read(w, r)
	switch {
	case err != nil:
		return err
	case info == nil || info.ID == "":
		return reply.NewProblem("bad-request", "the body has no ID of a Terraform lock")
	}
	id := idOf(r, name, info.ID)
	wish := &lease.Wish{Name: name, Owner: strings.TrimSpace(labelOf(info.ID) + " " + info.Who), TTL: l.TTL}
	grant := func(ctx context.Context) (string, error) { return l.Grant(ctx, wish) }
	for {
		text, again, err := l.taken.Do(r.Context(), id, [sha256.Size]byte{}, l.TTL, grant, l.Drop)
		if again && err == nil {
			if _, err = l.Check(r.Context(), text); errors.Is(err, holdfast.ErrLost) {
				l.taken.Forget(id, text)
				continue // each time one less is remembered
			}
		}
		if errors.Is(err, holdfast.ErrHeld) {
			return l.locked(w, r, name)
		} else if err == nil {
			w.WriteHeader(http.StatusOK)
		}
		return err
	}
}

// idOf is the key by which a lock of Terraform is remembered here.
func idOf(r *http.Request, name, id string) repeat.ID {
	return repeat.NewID(auth.PrincipalOf(r), name+"\x00"+id)
}

// locked answers 423 with the holder.
func (l *Locks) locked(w http.ResponseWriter, r *http.Request, name string) error {
	return l.Store.Do(r.Context(), func(ctx context.Context) error {
		holder, err := l.Names.Holder(ctx, name)
		if err != nil {
			return err
		}
		return reply.JSON(w, http.StatusLocked, infoOf(name, holder))
	})
}

// Unlock ends the lock with the ID of the body: 200, also when there is none
// any more. Without an ID, as force-unlock of Terraform sends it, it ends
// the lock of any holder, which only an admin may.
func (l *Locks) Unlock(w http.ResponseWriter, r *http.Request) error {
	name, by := r.PathValue("name"), auth.PrincipalOf(r)
	info, err := read(w, r)
	if err != nil {
		return err
	}
	forced := info == nil || info.ID == ""
	if forced && by.Role < auth.Admin {
		return reply.NewProblem("forbidden", "an unlock without an ID ends the lock of any holder: that needs the role admin")
	}
	return l.Store.Do(r.Context(), func(ctx context.Context) error {
		holder, err := l.Names.Holder(ctx, name)
		switch {
		case err != nil:
			return err
		case holder == nil:
			w.WriteHeader(http.StatusOK)
			return nil
		case !forced && !owns(holder, info.ID):
			return reply.JSON(w, http.StatusLocked, infoOf(name, holder))
		}
		reason := "unlocked by Terraform"
		if forced {
			reason = "force-unlock of Terraform"
			l.Logger.Info("server: force-unlock", "name", name, "hash", holder.Hash, "owner", holder.Owner, "by", by.Label, "from", r.RemoteAddr)
		} else {
			l.taken.Forget(idOf(r, name, info.ID), "")
		}
		err = l.Names.Admin.Steal(ctx, name, holder.Hash, reason)
		if err != nil && !errors.Is(err, holdfast.ErrTenure) { // it has ended meanwhile
			return err
		}
		w.WriteHeader(http.StatusOK)
		return nil
	})
}

// read reads a body; nil: there is none.
func read(w http.ResponseWriter, r *http.Request) (*lockInfo, error) {
	body, err := request.Body(w, r)
	if err != nil || len(body) == 0 {
		return nil, err
	}
	info := &lockInfo{}
	if err := json.Unmarshal(body, info); err != nil {
		return nil, reply.NewProblem("bad-request", "the body: %v", err)
	}
	return info, nil
}

func owns(h *admin.Holder, id string) bool {
	own, _, ok := labelled(h.Owner)
	return ok && label+own == labelOf(id)
}

// infoOf is what is known of a holder, in Terraform's words.
func infoOf(name string, h *admin.Holder) lockInfo {
	info := lockInfo{Path: name, Operation: "unknown"}
	if h == nil {
		return info
	}
	if h.Held > 0 {
		info.Created = time.Now().Add(-h.Held).UTC().Truncate(time.Second)
	}
	id, by, ok := labelled(h.Owner)
	if ok {
		info.ID, info.Who = id, by
		return info
	}
	info.ID, info.Who, info.Info = h.Hash, cmp.Or(h.Owner, "another program"), "not locked by Terraform"
	return info
}
