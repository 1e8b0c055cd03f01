package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Log is what happened in one run: a digest is its hash. Its zero value is empty.
// Methods may be called side by side. Names that a rename may change are translated
// back, see harness_names_test.go. Random ids are numbered in the order in which they
// appear. Lines of one instant have no order and are sorted.
type Log struct {
	mu    sync.Mutex
	lines []logged
}

type logged struct {
	at   time.Duration
	text string
}

func (l *Log) add(at time.Duration, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, logged{at, fmt.Sprintf(format, args...)})
}

// Sent notes a call that a process sends.
func (l *Log) Sent(at time.Duration, process, script string, args []string) {
	l.add(at, "sent %s %s %q", process, CanonicalScript(script), args)
}

// Ran notes a call that a server has run.
func (l *Log) Ran(at time.Duration, process, script string, keys, args, reply []string, err error) {
	l.add(at, "ran %s %s %q %q = %q %v", process, CanonicalScript(script), keys, args, reply, err)
}

// Pushed notes a message that a server has published to a process.
func (l *Log) Pushed(at time.Duration, process, message string) {
	kind, rest, _ := strings.Cut(message, " ")
	l.add(at, "push %s %s %q", process, CanonicalPush(kind), rest)
}

// Ended notes the result that a caller got.
func (l *Log) Ended(at time.Duration, process, what string) {
	l.add(at, "end %s %s", process, what)
}

// Lines is the canonical text of what happened.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := slices.Clone(l.lines)
	for i := range lines {
		lines[i].text = canonicalTexts.Replace(lines[i].text)
	}
	slices.SortStableFunc(lines, func(a, b logged) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		if c := strings.Compare(randomIDs.ReplaceAllString(a.text, "*"), randomIDs.ReplaceAllString(b.text, "*")); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	ids := map[string]string{}
	text := make([]string, len(lines))
	for i, e := range lines {
		text[i] = fmt.Sprintf("%v ", e.at) + randomIDs.ReplaceAllStringFunc(e.text, func(id string) string {
			client, nonce, whole := strings.Cut(id, ".")
			name := numbered(ids, client)
			if whole {
				name += "." + numbered(ids, nonce)
			}
			return name
		})
	}
	return text
}

func numbered(ids map[string]string, id string) string {
	if ids[id] == "" {
		ids[id] = fmt.Sprint("#", len(ids))
	}
	return ids[id]
}

// randomIDs finds the ids: a client's 128 bits, perhaps with the nonce of a tenure
// behind them, and the hexadecimal ids of servers and quorums.
var randomIDs = regexp.MustCompile(`\b[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{11}|\b[A-Za-z0-9_-]{22}\b|\b[0-9a-f]{32,40}\b|\b[0-9a-f]{16}\b`)

// Sum is the hash of what happened.
func (l *Log) Sum() string {
	sum := sha256.Sum256([]byte(strings.Join(l.Lines(), "\n")))
	return hex.EncodeToString(sum[:8])
}
