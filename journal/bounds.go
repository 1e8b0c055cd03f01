package journal

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/script"
)

// Bounds of what Redis may have stored. Every client that may write to Redis can store any text.
// Within them no sum or difference of three times or durations overflows, JSON has each time, and
// each text is safe to keep. A [Writer] writes nothing beyond them.
const (
	streamTTL = 32 * 24 * time.Hour // of the stream, from its newest entry

	longest  = script.LongestDuration
	early    = 24 * time.Hour // of an event before its arrival: the server's clock was set back
	maxCount = 1 << 53
	maxCode  = 1 << 32 // of an exit code, on any system

	maxName   = 512 // in bytes, as the others
	maxLabel  = 64
	maxReason = 512
	maxMore   = 8 << 10 // a Reason in JSON may have six times its length
	maxRecord = 2 << 10 // of a job
)

// arrived reports whether the stream can have an event of the time at, in microseconds, under an ID
// of arrival, in milliseconds. An ID from the future proves nothing: a client can choose it.
func arrived(at int64, arrival uint64, now time.Time) bool {
	from, until := now.Add(-longest), now.Add(early)
	if arrival <= uint64(until.UnixMilli()) {
		came := time.UnixMilli(int64(arrival))
		from = came.Add(-streamTTL)
		if came.Before(now) {
			until = came.Add(early)
		}
	}
	return from.UnixMicro() <= at && at <= until.UnixMicro()
}

// counts reports whether all of them can be counts.
func counts(figures ...int64) bool {
	return !slices.ContainsFunc(figures, func(n int64) bool { return n < 0 || n > maxCount })
}

// lasts reports whether a number of microseconds is in bounds.
func lasts(n int64, least time.Duration) bool {
	return least.Microseconds() <= n && n <= longest.Microseconds()
}

func isCode(n int64) bool { return -maxCode <= n && n <= maxCode }

// isPlain reports whether a text can be what plain returns.
func isPlain(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// plain removes control characters from a text and cuts it to most bytes.
func plain(text string, most int) string {
	if isPlain(text, most) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(text, "_"))
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// oldest is the largest age of an event of Note. An entry may wait for another day in the buffer.
const oldest = streamTTL - early

// within cuts a duration to the bounds.
func within(d, least time.Duration) time.Duration { return max(least, min(d, longest)) }
