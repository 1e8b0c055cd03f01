package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// lockInfo is what Terraform sends of a lock, and wants to read of who has it. It may
// send more one day.
type lockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// terraformLabel begins the owner of a lock of Terraform. The ID stands in it, so any
// server finds the lock again by that, also after a restart: the owner is all that
// Terraform leaves in the store.
const terraformLabel = "terraform/"

// labelOf is the beginning of the owner of the lock with an ID.
func labelOf(id string) string {
	plain := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
	}
	if len(id) > 40 || strings.ContainsFunc(id, plain) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:16])
	}
	return terraformLabel + id
}

// labelled reads an owner: the ID, and who it is; ok is false where it is none of Terraform's.
func labelled(owner string) (id, by string, ok bool) {
	rest, ok := strings.CutPrefix(owner, terraformLabel)
	id, by, _ = strings.Cut(rest, " ")
	return id, by, ok
}

// lockTerraform takes the lock: 200, also for who has it already, since Terraform
// asks again when an answer was lost; 423 with what is known of the one who has it.
//
// Who has it already is remembered here, and not read from the owner in the store: that may be
// of an attempt that failed (its answer was late, its client went away), which
// is being given back, at any moment and perhaps by another server. So after a lost
// answer another server says 423 with the ID of who asks: force-unlock ends that.
func (a *API) lockTerraform(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	info, p := terraformBody(w, r)
	switch {
	case p != nil:
		p.write(w)
		return
	case info == nil || info.ID == "":
		newProblem(http.StatusBadRequest, "bad-request", "the body has no ID of a Terraform lock").write(w)
		return
	}
	id := terraformID(r, name, info.ID)
	for {
		text, again, err := a.terraform.do(r.Context(), id, [32]byte{}, a.options.TerraformTTL, func(ctx context.Context) (string, error) {
			return a.grantTerraform(ctx, name, info)
		}, a.drop)
		if again && err == nil {
			if _, err = a.ask(r.Context(), text, a.client.CheckExported); errors.Is(err, holdfast.ErrLost) {
				a.terraform.forget(id, text)
				continue // each time one less is remembered
			}
		}
		switch {
		case err == nil:
			w.WriteHeader(http.StatusOK)
		case errors.Is(err, holdfast.ErrHeld):
			a.lockedTerraform(w, r, name)
		default:
			problemOf(err).write(w)
		}
		return
	}
}

// terraformID is by what a lock of Terraform is remembered here.
func terraformID(r *http.Request, name, id string) repeatID {
	return repeatID{who(r).id, sha256.Sum256([]byte(name + "\x00" + id))}
}

func (a *API) grantTerraform(ctx context.Context, name string, info *lockInfo) (string, error) {
	ctx, leave, err := a.store.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	m := a.client.Mutex(name)
	m.Owner, m.TTL = strings.TrimSpace(labelOf(info.ID)+" "+info.Who), a.options.TerraformTTL
	lease, err := m.TryLock(ctx)
	if err != nil {
		return "", because(ctx, err)
	}
	text, err := lease.Export()
	if err != nil {
		_ = lease.Release() // it is retried in the background
	}
	return text, err
}

// lockedTerraform answers 423 with who has the name.
func (a *API) lockedTerraform(w http.ResponseWriter, r *http.Request, name string) {
	ctx, leave, err := a.store.enter(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	holder, err := a.holder(ctx, name)
	if err != nil {
		problemOf(because(ctx, err)).write(w)
		return
	}
	answer(w, http.StatusLocked, infoOf(name, holder))
}

// unlockTerraform ends the lock with the ID of the body: 200, also when there is none
// any more. Without an ID, as force-unlock of Terraform sends it, it ends
// whatever lock there is, which only an admin may.
func (a *API) unlockTerraform(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	info, p := terraformBody(w, r)
	if p != nil {
		p.write(w)
		return
	}
	forced := info == nil || info.ID == ""
	if forced && who(r).Role < Admin {
		newProblem(http.StatusForbidden, "forbidden", "an unlock without an ID ends the lock of any holder: that needs the role admin").write(w)
		return
	}
	ctx, leave, err := a.store.enter(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	holder, err := a.holder(ctx, name)
	switch {
	case err != nil:
		problemOf(because(ctx, err)).write(w)
		return
	case holder == nil:
		w.WriteHeader(http.StatusOK)
		return
	case !forced && !owns(holder, info.ID):
		answer(w, http.StatusLocked, infoOf(name, holder))
		return
	}
	reason := "unlocked by Terraform"
	if forced {
		reason = "force-unlock of Terraform"
		a.options.Logger.Info("server: force-unlock", "name", name, "hash", holder.Hash, "owner", holder.Owner, "by", who(r).Label, "from", r.RemoteAddr)
	}
	if !forced {
		a.terraform.forget(terraformID(r, name, info.ID), "")
	}
	err = a.client.Steal(ctx, name, holder.Hash, reason)
	if err != nil && !errors.Is(err, holdfast.ErrTenure) { // it has ended meanwhile
		problemOf(because(ctx, err)).write(w)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// terraformBody reads a body; nil: there is none.
func terraformBody(w http.ResponseWriter, r *http.Request) (*lockInfo, *problem) {
	body, p := readAll(w, r)
	if p != nil || len(body) == 0 {
		return nil, p
	}
	info := &lockInfo{}
	if err := json.Unmarshal(body, info); err != nil {
		return nil, newProblem(http.StatusBadRequest, "bad-request", "the body: %v", err)
	}
	return info, nil
}

// holder is who has the name; nil: nobody.
func (a *API) holder(ctx context.Context, name string) (*holdfast.Holder, error) {
	state, err := a.client.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	if state.Holder != nil && state.Holder.Cooldown {
		return nil, nil
	}
	return state.Holder, nil
}

func owns(h *holdfast.Holder, id string) bool {
	own, _, ok := labelled(h.Owner)
	return ok && terraformLabel+own == labelOf(id)
}

// infoOf is what is known of a holder, in Terraform's words.
func infoOf(name string, h *holdfast.Holder) lockInfo {
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
