package look

import (
	"cmp"
	"fmt"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
)

// FieldsHelp documents what json returns; ls and show print it.
const FieldsHelp = `  name          the name
  kind          mutex, semaphore, rwmutex, or election if its leader has announced
                the term; mutex also if the name is free
  state         free, held, or cool-down: not held, and not free before
                remaining_ms have passed (--min-hold)
  held          true if state is held
  holder        null, or an object:
                owner         the label; in an election the leader's value; in
                              cool-down the last holder
                hash          identifies the tenure, for revoke and steal
                foreign       true: a client of another library holds the name
                cooldown      true if state is cool-down
                held_ms       null: unknown
                remaining_ms  null: the key has no expiry
                ttl_ms        null: unknown
  tokens_up_to  the highest token reserved, 0 if none is stored; a process reserves
                a block of tokens, so the token of the lease is this or a lower
                one, and only the holder knows it (HOLDFAST_TOKEN)
  waiting       number of processes that wait
  waiters       the first of them (show 1,000, ls 100), in order, each with:
                position (0 is the first), owner, hash, waited_ms, listening
                (false: its process has ended or has lost its connection)
  reasons       state and problems, most serious first, each with: code, problem
                (it needs attention), sentence, action (what to do; may be empty);
                docs/guide/08-operating.md lists the codes
  at            the server's time
  holders       of a semaphore or rwmutex: at most 1,000, sorted by the end of their
                leases; each is an object like the field holder, and also has
                permits or mode (read or write), as waiters do; the field holder
                is the first of holders
  holding       with holders: their number
  size, used    of a semaphore: its permits, and how many of them are held; size
                also of a free name whose size is stored, for 30 days
  term          of an election: the number of the leader's term

A holder and a waiter may also have: client (names its process), details (host, pid,
user, program, command, note of the process), revoked (the reason of a revocation).`

// HolderName is what people call the holder.
func HolderName(h *holdfast.Holder) string {
	switch {
	case h == nil:
		return "-"
	case h.Cooldown:
		return fmt.Sprintf("(cool-down after %s)", view.Text(h.Owner))
	case h.Foreign:
		return cmp.Or(view.Text(h.Owner), "(not holdfast)")
	}
	return cmp.Or(view.Text(h.Owner), "(no label)")
}

// HeldText is how long a name has been held.
func HeldText(h *holdfast.Holder) string {
	if h == nil || h.Held <= 0 {
		return "-"
	}
	return console.Age(h.Held)
}

// RemainingText is how long the lease lasts.
func RemainingText(h *holdfast.Holder) string {
	switch {
	case h == nil:
		return "-"
	case h.Remaining < 0:
		return "no expiry"
	}
	return console.Age(h.Remaining)
}

// LeftText is "6s of 15s left", or less if less is known.
func LeftText(h *holdfast.Holder) string {
	switch {
	case h.Remaining < 0:
		return "no expiry"
	case h.TTL <= 0:
		return RemainingText(h) + " left"
	}
	return RemainingText(h) + " of " + console.Age(h.TTL) + " left"
}

// TokenText is a token, or - if there is none.
func TokenText(token int64) string {
	if token == 0 {
		return "-"
	}
	return fmt.Sprint(token)
}

// waiterName is the label of a waiter, with the details of its process.
func waiterName(w holdfast.Waiter) string {
	if w.Owner == "" {
		return "(no label)"
	}
	return view.Text(w.Describe())
}
