package script

import (
	"regexp"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/protocol"
)

// LongestDuration is the longest that the journal stores.
const LongestDuration = 10 * 365 * 24 * time.Hour

// numbers are those that a script names as {{name}}. A number with two digits or more stands
// nowhere else: what Go needs, too, in internal/protocol, the others here.
var numbers = map[string]int64{
	"claim_window_ms":    protocol.ClaimWindow.Milliseconds(),
	"claim_window_us":    protocol.ClaimWindow.Microseconds(),
	"head_poll_ms":       (protocol.ClaimWindow.Milliseconds() + 2) / 3, // a living head polls three times before it counts as silent
	"front_size":         protocol.FrontSize,
	"front_poll_ms":      protocol.FrontPoll.Milliseconds(),
	"poll_per_waiter_ms": protocol.PollPerWaiter.Milliseconds(),

	"queue_ttl_ms":   protocol.QueueTTL.Milliseconds(),
	"adopted_ttl_ms": (30 * time.Minute).Milliseconds(),
	"day_us":         (24 * time.Hour).Microseconds(),
	"longest_us":     LongestDuration.Microseconds(),
	"day_ms":         (24 * time.Hour).Milliseconds(),
	"record_ttl_ms":  protocol.RecordTTL.Milliseconds(),
	"ahead_ms":       time.Second.Milliseconds(), // tokens may be that far ahead of the clock
	"fence_ttl_ms":   (protocol.RecordTTL + time.Second).Milliseconds(),
	"nonce":          protocol.Nonce,
	"size_ttl_ms":    (30 * 24 * time.Hour).Milliseconds(),
	"missed_ttl_ms":  (30 * time.Second).Milliseconds(), // in which the holders key still names the clients that let a grant expire

	"hour_us":        time.Hour.Microseconds(),
	"sum_hours":      8 * 24, // of the sums of the journal
	"sums_ttl_ms":    (8 * 24 * time.Hour).Milliseconds(),
	"counted_ttl_ms": (10 * time.Minute).Milliseconds(), // in which a Writer may repeat a batch

	"quorum_ttl_ms":    protocol.MaxQuorumTTL.Milliseconds(),
	"quorum_ttl_us":    protocol.MaxQuorumTTL.Microseconds(),
	"max_come_back_ms": protocol.MaxComeBack.Milliseconds(),

	"tokens_per_us": protocol.TokensPerMicrosecond,
	"tokens_per_ms": protocol.TokensPerMicrosecond * 1_000,
	"tokens_per_s":  protocol.TokensPerMicrosecond * 1_000_000,
	"token_block":   protocol.TokenBlock,
	"max_token":     protocol.MaxToken,
	"max_size":      protocol.MaxSize,
	"light_us":      1 << 52, // see part/shared_ids.lua

	// Bounds on what one run of a script does.
	"text":            protocol.MaxText + 1, // bytes that are read of a text: enough to see that it is longer than ours
	"text_end":        protocol.MaxText,     // index of the last of them
	"details_end":     4096,                 // the same of process details, and of what the journal stores
	"page":            64,                   // ids of the queue that are read at once
	"batch":           500,                  // dead waiters or ended holders that are removed at once
	"survey":          10_000,               // ids that are searched for those of a silent client
	"most_missed":     5_000,                // of its ids that are removed
	"most_grants":     100,
	"most_heavy":      100_000, // holders of several permits that are added up
	"most_fields":     10_000,  // of a hash that is read whole
	"huge":            1 << 20, // bytes of a key that is read whole or in pieces, see part/refuse_huge.lua
	"piece":           1024,    // bytes more for each of its members, fields or entries
	"longest_pttl_ms": 4e12,
	"job_history":     10, // days and runs of a job that are remembered
}

var numberName = regexp.MustCompile(`\{\{(\w+)\}\}`)

// withNumbers puts the numbers into a script in the places of their names.
func withNumbers(text string) string {
	return numberName.ReplaceAllStringFunc(text, func(name string) string {
		n, ok := numbers[name[2:len(name)-2]]
		if !ok {
			panic("holdfast: a script names " + name + ", which internal/script/numbers.go does not have")
		}
		return strconv.FormatInt(n, 10)
	})
}
