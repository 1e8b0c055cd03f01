// Package terraform serves the lock requests of Terraform's http backend. It stores no state
// files.
package terraform

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

// label begins the owner of a lock of Terraform. The ID and the mark of the token stand in it, so
// any server finds the lock again by that, also after a restart: the owner is all that
// Terraform leaves in the store.
const label = "terraform/"

// plain is an ID that can stand in an owner as it is.
var plain = regexp.MustCompile(`^[0-9a-zA-Z-]{0,40}$`)

// labelOf is the beginning of the owner of the lock with an ID, without the mark.
func labelOf(id string) string {
	if !plain.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:16])
	}
	return label + id
}

// markLength is the length of a mark. An owner has 64 bytes, and the rest is for the user. 36 bits
// are enough: each token has one mark for each lock, so an attacker has one guess, which is logged.
const markLength = 6

// markOf is the mark that a token has in the owner of a lock: the same one on every server with
// that token. Name and ID are part of it, so marks do not show which locks are of one token. A
// client that chooses its owner (POST /v1/leases) can copy a mark, but only into its own lease.
func markOf(by auth.Principal, name, id string) string {
	token := by.Token()
	if token == [sha256.Size]byte{} {
		return ""
	}
	mac := hmac.New(sha256.New, token[:])
	mac.Write([]byte(name + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:markLength]
}

// ownerOf is the owner of a lock: label and ID, the mark if there are tokens, and the user.
func ownerOf(by auth.Principal, name string, info *lockInfo) string {
	owner := labelOf(info.ID)
	if mark := markOf(by, name, info.ID); mark != "" {
		owner += "/" + mark
	}
	return strings.TrimSpace(owner + " " + info.Who)
}

// labelled splits an owner into the ID, the mark and the user; ok is false if it is not Terraform's.
func labelled(owner string) (id, mark, user string, ok bool) {
	rest, ok := strings.CutPrefix(owner, label)
	id, user, _ = strings.Cut(rest, " ")
	id, mark, _ = strings.Cut(id, "/")
	return id, mark, user, ok
}

// Locks serves the locks of Terraform.
type Locks struct {
	*lease.Leases
	TTL time.Duration // of a lock, which Terraform does not renew

	taken *repeat.Memory
}

// New makes Locks.
func New(l *lease.Leases, ttl time.Duration) *Locks {
	return &Locks{l, ttl, repeat.New("locks of Terraform", l.Over)}
}

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
	wish := &lease.Wish{Name: name, Owner: ownerOf(auth.PrincipalOf(r), name, info), TTL: l.TTL}
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
// any more. Every viewer can read the ID, so the request also needs the token that locked,
// or the role admin. Without an ID, as force-unlock of Terraform sends it, it ends the lock
// of any holder, which only an admin may.
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
		log := l.Logger.With("name", name, "hash", holder.Hash, "owner", holder.Owner, "by", by.Label, "from", r.RemoteAddr)
		reason := "force-unlock of Terraform"
		if !forced {
			if by.Role < auth.Admin && !marked(holder, by, name, info.ID) {
				log.Warn("server: unlock refused: it was locked with another token")
				return reply.NewProblem("forbidden", "%s was locked with another token: unlock it with that, or with one that has the role admin", name)
			}
			reason = "unlocked by Terraform"
			l.taken.Forget(idOf(r, name, info.ID), "")
		}
		log.Info("server: unlock", "reason", reason)
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
	own, _, _, ok := labelled(h.Owner)
	return ok && label+own == labelOf(id)
}

// marked reports whether a lock was taken with the token of by.
func marked(h *admin.Holder, by auth.Principal, name, id string) bool {
	_, mark, _, _ := labelled(h.Owner)
	return mark == markOf(by, name, id)
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
	id, _, user, ok := labelled(h.Owner)
	if ok {
		info.ID, info.Who = id, user
		return info
	}
	info.ID, info.Who, info.Info = h.Hash, cmp.Or(h.Owner, "another program"), "not locked by Terraform"
	return info
}
