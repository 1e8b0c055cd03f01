// Package script holds the Lua that holdfast runs inside Redis, embedded: a folder
// per family of locks, a file per operation, and in part/ the fragments that several
// scripts share. What each script takes, answers and writes, and in which order, is
// written down in docs/protocol.md; that table comes first and the files follow it.
// A script names each number as {{name}}: see numbers.go.
// Whole scripts stand in testdata/expanded, made by go test ./internal/script -update.
package script

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

//go:embed */*.lua
var files embed.FS

const parts = "part/"

// all has every script of the folders, in the order of their paths.
var all = read()

// The operations on a lock with one holder, which all kinds share that a single
// server keeps and that are not of the shared kind.
var (
	Lock          = load("mutex/lock")
	LockBatch     = load("mutex/lock_batch")
	Unlock        = load("mutex/unlock")
	UnlockKeyOnly = load("mutex/unlock_key_only")
	Cooldown      = load("mutex/cooldown")
	Cancel        = load("mutex/cancel")
	Renew         = load("mutex/renew")
	RenewKeyOnly  = load("mutex/renew_key_only")
	Held          = load("mutex/held")
	Inspect       = load("mutex/inspect")
	Revoke        = load("mutex/revoke")
	Steal         = load("mutex/steal")
	Take          = load("mutex/take")
	Adopt         = load("mutex/adopt")
	Exported      = load("mutex/exported")
	Repair        = load("mutex/repair")
	Check         = load("mutex/check")
	Sweep         = load("mutex/sweep")
	Values        = load("mutex/values")
	Replicas      = load("mutex/replicas")

	MultiLock = load("multi/lock")
)

// The operations on a semaphore or an RWMutex.
var (
	SharedLock          = load("shared/lock")
	SharedUnlock        = load("shared/unlock")
	SharedUnlockKeyOnly = load("shared/unlock_key_only")
	SharedRenew         = load("shared/renew")
	SharedRenewKeyOnly  = load("shared/renew_key_only")
	SharedHeld          = load("shared/held")
	SharedResize        = load("shared/resize")
	SharedInspect       = load("shared/inspect")
	SharedRevoke        = load("shared/revoke")
	SharedSteal         = load("shared/steal")
	SharedExported      = load("shared/exported")
)

// The operations on one node of a quorum. See docs/quorum.md.
var (
	QuorumLock    = load("quorum/lock")
	QuorumRaise   = load("quorum/raise")
	QuorumRenew   = load("quorum/renew")
	QuorumRepair  = load("quorum/repair")
	QuorumUnlock  = load("quorum/unlock")
	QuorumHeld    = load("quorum/held")
	QuorumMark    = load("quorum/mark")
	QuorumInspect = load("quorum/inspect")
)

// The operations of an election beyond those of its lock.
var (
	ElectionAnnounce = load("election/announce")
	ElectionLeader   = load("election/leader")
)

// The operations of a Once and of a tick of a schedule.
var (
	OnceLock    = load("once/lock")
	OnceBegin   = load("once/begin")
	OnceEnd     = load("once/end")
	OnceInspect = load("once/inspect")
)

// The operations of package journal, and what Clients write about their processes.
var (
	JournalWrite = load("journal/write")
	JournalRead  = load("journal/read")
	JournalSums  = load("journal/sums")
	JobNote      = load("job/note")
	JobList      = load("job/list")
	JobForget    = load("job/forget")

	DetailsNote    = load("details/note")
	DetailsInspect = load("details/inspect")
)

// load returns the script of the file family/operation.
func load(file string) *driver.Script {
	for i := range all {
		if all[i].Path == file {
			return all[i].Script
		}
	}
	panic("holdfast: no script " + file)
}

func read() []File {
	names, err := fs.Glob(files, "*/*.lua")
	if err != nil {
		panic(fmt.Sprintf("holdfast: %v", err))
	}
	var found []File
	for _, name := range names {
		if !strings.HasPrefix(name, parts) {
			found = append(found, newFile(strings.TrimSuffix(name, ".lua")))
		}
	}
	return found
}

// expand reads the file, puts the numbers into it, and puts each fragment that a line
// "-- include FILE" names in that line's place. The place matters: what stands before it
// runs without paying for the functions that the fragment makes.
func expand(file string) string {
	text, err := files.ReadFile(file + ".lua")
	if err != nil {
		panic(fmt.Sprintf("holdfast: script %s: %v", file, err))
	}
	var b strings.Builder
	for line := range strings.Lines(withNumbers(string(text))) {
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "-- include "); ok {
			b.WriteString(expand(strings.TrimSuffix(file, ".lua")))
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
