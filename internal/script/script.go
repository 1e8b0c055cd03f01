// Package script holds the Lua that holdfast runs inside Redis: one file per
// operation, embedded. What each takes, answers and writes, and in which order,
// is written down in docs/protocol.md; that table comes first and the files
// follow it.
package script

import (
	"embed"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

//go:embed *.lua
var files embed.FS

// The operations. See docs/protocol.md.
var (
	Lock     = load("lock")
	Unlock   = load("unlock")
	Cancel   = load("cancel")
	Renew    = load("renew")
	Drop     = load("drop")
	Keep     = load("keep")
	Repair   = load("repair")
	Inspect  = load("inspect")
	Check    = load("check")
	Sweep    = load("sweep")
	Replicas = load("replicas")
	Revoke   = load("revoke")
	Steal    = load("steal")
	Take     = load("take")
	Adopt    = load("adopt")
	Exported = load("exported")
	Announce = load("announce")
	Leader   = load("leader")
	Rest     = load("rest")
	Held     = load("held")

	MultiLock = load("multi_lock")
	Crowd     = load("crowd")

	DetailsNote = load("details_note")
	DetailsLook = load("details_look")
)

// The operations of a Once and of a tick of a schedule.
var (
	OnceLock  = load("once_lock")
	OnceBegin = load("once_begin")
	OnceEnd   = load("once_end")
	OnceLook  = load("once_look")
)

// The operations of package journal.
var (
	JournalWrite = load("journal_write")
	JournalRead  = load("journal_read")
	JobNote      = load("job_note")
	JobList      = load("job_list")
)

// Journal lists those.
func Journal() []*driver.Script { return []*driver.Script{JournalWrite, JournalRead, JobNote, JobList} }

// The operations on one node of a quorum. See docs/quorum.md.
var (
	QuorumLock   = load("quorum_lock")
	QuorumRaise  = load("quorum_raise")
	QuorumRenew  = load("quorum_renew")
	QuorumRepair = load("quorum_repair")
	QuorumUnlock = load("quorum_unlock")
	QuorumMark   = load("quorum_mark")
	QuorumLook   = load("quorum_look")
	QuorumHeld   = load("quorum_held")
)

// The operations on a lock of a shared kind: a semaphore or an RWMutex.
var (
	SharedLock    = load("shared_lock")
	SharedUnlock  = load("shared_unlock")
	SharedRenew   = load("shared_renew")
	SharedDrop    = load("shared_drop")
	SharedKeep    = load("shared_keep")
	SharedResize  = load("shared_resize")
	SharedInspect = load("shared_inspect")
	SharedRevoke  = load("shared_revoke")
	SharedSteal   = load("shared_steal")
	SharedHeld    = load("shared_held")
)

// Shared lists those.
func Shared() []*driver.Script {
	return []*driver.Script{SharedLock, SharedUnlock, SharedRenew, SharedDrop, SharedKeep, SharedResize, SharedInspect, SharedRevoke, SharedSteal, SharedHeld}
}

// Quorum lists those.
func Quorum() []*driver.Script {
	return []*driver.Script{QuorumLock, QuorumRaise, QuorumRenew, QuorumRepair, QuorumUnlock, QuorumMark, QuorumLook, QuorumHeld}
}

// All lists the scripts of one master that the other lists do not have.
func All() []*driver.Script {
	return []*driver.Script{Lock, Unlock, Cancel, Renew, Drop, Keep, Repair, Inspect, Check, Sweep, Replicas, Revoke, Steal, Take, Adopt, Announce, Leader, Rest, MultiLock, Crowd, OnceLock, OnceBegin, OnceEnd, OnceLook, DetailsNote, DetailsLook, Exported, Held}
}

// load reads name.lua and puts each file that a line "-- include FILE" names in
// that line's place. The place matters: what stands before it runs without
// paying for the functions that the included file makes.
func load(name string) *driver.Script {
	return driver.NewScript(name, expand(name))
}

func expand(name string) string {
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("holdfast: script %s: %v", name, err))
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "-- include "); ok {
			b.WriteString(expand(strings.TrimSuffix(file, ".lua")))
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
