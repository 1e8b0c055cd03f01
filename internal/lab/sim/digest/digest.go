// Package digest notes what one story of the simulation did, in canonical
// names, and hashes it. Two versions of the client that have the same digests
// for many seeds did the same in all those stories, so a refactoring can be
// shown to change nothing:
//
//	go run ./internal/lab/sim/simulate -digest -o FILE       # before
//	go run ./internal/lab/sim/simulate -digest -against FILE # after
//
// A line is one of these, with the simulated time in front:
//
//	sent PROCESS SCRIPT ARGS          a call leaves its process
//	ran PROCESS SCRIPT KEYS ARGS = REPLY   the server has run a call
//	push PROCESS MESSAGE              the server has published a message
//	end PROCESS OPERATION: OUTCOME    what a caller was told
//
// -digest -trace SEED writes the lines of one story, and with -against says where
// two versions part. A seed repeats its story to the letter, see steady.go of
// simulate. To compare with a commit that has no such package, cherry-pick there
// the commits that made it.
//
// Names that a rename may change are translated back by names.txt. Random ids
// are numbered in the order in which they appear. Lines of one instant have no
// order and are sorted.
package digest

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

// Log is what happened in one story. Its zero value is empty. Methods may be
// called side by side. Names are made in names.go.
type Log struct {
	mu    sync.Mutex
	lines []line
}

type line struct {
	at   time.Duration
	text string
}

func (l *Log) add(at time.Duration, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line{at, fmt.Sprintf(format, args...)})
}

// Sent notes a call that a process sends.
func (l *Log) Sent(at time.Duration, process, script string, args []string) {
	l.add(at, "sent %s %s %q", process, Script(script), args)
}

// Ran notes a call that a server has run.
func (l *Log) Ran(at time.Duration, process, script string, keys, args, reply []string, err error) {
	l.add(at, "ran %s %s %q %q = %q %v", process, Script(script), keys, args, reply, err)
}

// Pushed notes a message that a server has published to a process.
func (l *Log) Pushed(at time.Duration, process, message string) {
	kind, rest, _ := strings.Cut(message, " ")
	l.add(at, "push %s %s %q", process, Push(kind), rest)
}

// Ended notes what a caller was told.
func (l *Log) Ended(at time.Duration, process, what string) {
	l.add(at, "end %s %s", process, what)
}

// Lines is the canonical text of what happened.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := slices.Clone(l.lines)
	for i := range lines {
		lines[i].text = texts.Replace(lines[i].text)
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		if c := strings.Compare(random.ReplaceAllString(a.text, "*"), random.ReplaceAllString(b.text, "*")); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	ids := map[string]string{}
	canonical := make([]string, len(lines))
	for i, e := range lines {
		canonical[i] = fmt.Sprintf("%v ", e.at) + random.ReplaceAllStringFunc(e.text, func(id string) string {
			client, nonce, whole := strings.Cut(id, ".")
			name := number(ids, client)
			if whole {
				name += "." + number(ids, nonce)
			}
			return name
		})
	}
	return canonical
}

func number(ids map[string]string, id string) string {
	if ids[id] == "" {
		ids[id] = fmt.Sprint("#", len(ids))
	}
	return ids[id]
}

// random finds the ids: a client's 128 bits, perhaps with the nonce of a tenure
// behind them, and the hexadecimal ids of servers and quorums.
var random = regexp.MustCompile(`\b[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{11}|\b[A-Za-z0-9_-]{22}\b|\b[0-9a-f]{32,40}\b|\b[0-9a-f]{16}\b`)

// Sum is the hash of what happened.
func (l *Log) Sum() string {
	sum := sha256.Sum256([]byte(strings.Join(l.Lines(), "\n")))
	return hex.EncodeToString(sum[:8])
}

// Part says where two sequences part, with some lines before, or "" if they are
// the same.
func Part(one, other []string) string {
	i := 0
	for i < len(one) && i < len(other) && one[i] == other[i] {
		i++
	}
	if i == len(one) && i == len(other) {
		return ""
	}
	var b strings.Builder
	for _, same := range one[max(0, i-5):i] {
		fmt.Fprintln(&b, "  ", same)
	}
	next := func(mark string, lines []string) {
		for _, text := range lines[min(i, len(lines)):min(i+3, len(lines))] {
			fmt.Fprintln(&b, mark, text)
		}
	}
	next("- ", other)
	next("+ ", one)
	return b.String()
}
