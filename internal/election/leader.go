// Package election has the parts of an election that need no Client. [Decode] reads the leader
// from an answer of Redis. [Agreed] finds the leader of a majority of nodes. A [Sight] decides
// what is news for an observer, and when it polls again. [Announcement] is the call by which a
// leader announces its term.
package election

import (
	"errors"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Leader has the fields of holdfast.Leader, which describes them.
type Leader struct {
	Value     string
	Term      int64
	Hash      string
	Foreign   bool
	Own       bool
	Remaining time.Duration
}

// None reports whether nobody leads.
func (l Leader) None() bool { return l.Hash == "" }

// View is the leader that one poll of Redis saw.
type View struct {
	Leader
	number int64 // how often it has proclaimed a value
}

// Holder describes the leader whose id is value. client is the id of the Client that asks.
func Holder(client, value string, remaining time.Duration, term int64) Leader {
	id, ours := keyspace.ParseID(value)
	return Leader{
		Value: id.Owner, Term: term, Hash: keyspace.HashID(value), Foreign: !ours, Own: ours && id.Client == client, Remaining: remaining,
	}
}

var errLeader = errors.New("leader: unexpected answer")

// Decode reads the answer of the script leader. client is the id of the Client that asks.
func Decode(client string, reply []string) (View, error) {
	if len(reply) != 7 || reply[0] != "leader" {
		return View{}, errLeader
	}
	pttl, err := strconv.ParseInt(reply[3], 10, 64)
	term, err2 := strconv.ParseInt(reply[4], 10, 64)
	number, err3 := strconv.ParseInt(reply[5], 10, 64)
	if errors.Join(err, err2, err3) != nil || pttl < -2 || pttl > protocol.MaxToken || term < 0 || term > protocol.MaxToken || number < 0 {
		return View{}, errLeader
	}
	remaining := time.Duration(min(pttl, 1<<40)) * time.Millisecond
	if remaining == wire.NoKey || keyspace.IsCooldown(reply[2]) {
		return View{}, nil
	}
	if version := keyspace.OtherVersion(reply[2]); version > 0 {
		return View{}, &wire.VersionError{Version: version}
	}
	v := View{Leader: Holder(client, reply[2], remaining, term), number: number}
	if number > 0 {
		v.Value = keyspace.CleanOwner(reply[6])
	}
	return v, nil
}

// Announcement returns the call that announces the term of an id. value is the newest that the
// leader has proclaimed, and number counts them. In a Cluster the channel is sharded.
func Announcement(k *keyspace.Keys, id string, token int64, sharded bool, number int64, value string) driver.Call {
	kind := ""
	if sharded {
		kind = "s"
	}
	return driver.Call{Script: script.ElectionAnnounce, Keys: k.WithTerm(), Args: []string{
		id, strconv.FormatInt(token, 10), k.ElectionChannel(), kind, strconv.FormatInt(number, 10), value,
	}}
}
