package doctor

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	useMaster = "use the address of the master, or of Sentinels (sentinel://)"

	// masterWait bounds the question for a master's address.
	masterWait = time.Second
)

// fixes say what to do about an answer that begins with a word, or has it inside.
var fixes = []struct{ word, fix string }{
	{"READONLY", useMaster},
	{"MASTERDOWN", useMaster},
	{"OOM", "raise maxmemory, or delete keys that no program needs"},
	{"LOADING", "wait until the server has loaded its data"},
	{"CLUSTERDOWN", "bring the missing masters back, or run redis-cli --cluster fix"},
	{"MISCONF", "read the server's log; most often the disk is full"},
	{"NOREPLICAS", "bring the missing replicas back: the server has a min-replicas-to-write"},
	{"BUSY", "end the script that keeps the server busy (SCRIPT KILL)"},
	{"max number of clients", "raise maxclients, or close connections"},
	{"NOAUTH", "put the password into the URL: redis://:PASSWORD@HOST:PORT, or redis://USER:PASSWORD@HOST:PORT"},
	{"WRONGPASS", "correct the user and the password in the URL: redis://USER:PASSWORD@HOST:PORT"},
	{"without any password configured", "remove the password from the URL: the server has none"},
}

// Fix returns what to do about an error of a store, or "" if the error says it or nothing is
// known.
func Fix(err error) string {
	said, _ := wire.AsServerError(err)
	for _, f := range fixes {
		if strings.HasPrefix(string(said), f.word) || strings.Contains(string(said), "-"+f.word+" ") || strings.Contains(f.word, " ") && strings.Contains(string(said), f.word) {
			return f.fix
		}
	}
	return ""
}

// Moves reports whether an error means that another server is the master.
func Moves(err error) bool { return Fix(err) == useMaster }

// Advise is Fix, and asks a replica for the address of its master. It returns within a second,
// or when ctx ends.
func Advise(ctx context.Context, store driver.Store, err error) string {
	fix := Fix(err)
	if !Moves(err) {
		return fix
	}
	return cmp.Or(AtReplica(ctx, store), fix)
}

// AtReplica returns what to do if the server says that it is a replica, or "". It returns within
// a second, or when ctx ends.
func AtReplica(ctx context.Context, store driver.Store) string {
	d := newDoctor(store, nil)
	t := newTrial(d, 0)
	reply, err := d.caller.Run(ctx, masterWait, driver.Call{Script: script.Check, Keys: t.keys[:], Args: t.facts()})
	if err != nil {
		return ""
	}
	if s := decodeServer(reply); s.info["role"] == "slave" {
		return useMasterOf(s)
	}
	return ""
}

// HidesWaiters returns an error if the server is a replica and a waiter in the survey seems to be
// gone: a replica knows no subscription of its master. The error says what to do. It asks the
// server nothing about a quorum, or if no waiter seems to be gone.
func HidesWaiters(ctx context.Context, names admin.Reader, survey *admin.Survey) error {
	one, ok := names.(*admin.Admin)
	if !ok || !slices.ContainsFunc(survey.Names, missesWaiter) {
		return nil
	}
	if fix := AtReplica(ctx, one.Store()); fix != "" {
		return errors.New("the server is a replica: its waiters seem to be gone, and their problems are not found; " + fix)
	}
	return nil
}

// missesWaiter reports whether a waiter seems to be gone.
func missesWaiter(n admin.Surveyed) bool {
	return slices.ContainsFunc(n.Waiters, func(w admin.Waiter) bool { return !w.Listening })
}

// useMasterOf is useMaster with the address, if the server says it.
func useMasterOf(s server) string {
	host, port := s.info["master_host"], s.info["master_port"]
	if host == "" || port == "" {
		return useMaster
	}
	return strings.Replace(useMaster, "the master", "its master, "+net.JoinHostPort(host, port), 1)
}
