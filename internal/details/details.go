// Package details handles what a Client stores in Redis about its process: host, pid, user and
// so on. [Stored] is the content, and [Parse] reads it. A [Note] writes and removes it.
package details

import (
	"cmp"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

const (
	// MaxField is the longest field of a [Process], in bytes.
	MaxField = 256
	// MaxExpect is the longest Expect of a [Process].
	MaxExpect = 744 * time.Hour

	maxText = 16 * MaxField
)

// Process has the fields of holdfast.Details, which describes them.
type Process struct {
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	User    string `json:"user,omitempty"`
	Program string `json:"program,omitempty"`
	Command string `json:"command,omitempty"`
	Note    string `json:"note,omitempty"`

	Expect time.Duration `json:"-"` // stored as Stored.ExpectMS

	Parent string `json:"parent,omitempty"`
	Within string `json:"within,omitempty"`
}

// Environment variables of a command of 'holdfast run': the Client of the outer command, and
// the name that it holds.
const (
	ParentVariable = "HOLDFAST_CLIENT"
	WithinVariable = "HOLDFAST_NAME"
)

// OfThisProcess returns what is known of this process, without Command and Note.
func OfThisProcess() Process {
	p := Process{PID: os.Getpid(), Program: filepath.Base(os.Args[0])}
	if parent := os.Getenv(ParentVariable); keyspace.IsHash(parent) {
		p.Parent, p.Within = parent, os.Getenv(WithinVariable)
	}
	p.Host, _ = os.Hostname()
	p.User = os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		p.User = u.Username
	}
	return p
}

// Clean returns a copy that is safe to read and not too long.
func (p Process) Clean() Process {
	p.PID, p.Expect = max(0, p.PID), min(max(0, p.Expect), MaxExpect)
	for _, field := range []*string{&p.Host, &p.User, &p.Program, &p.Command, &p.Note, &p.Parent, &p.Within} {
		*field = keyspace.Clean(*field, MaxField)
	}
	if !keyspace.IsHash(p.Parent) {
		p.Parent, p.Within = "", ""
	}
	return p
}

// String returns a text like "alice, pid 4121 on web-3", as far as it is known.
func (p Process) String() string {
	var parts []string
	if p.User != "" {
		parts = append(parts, p.User)
	}
	if p.PID > 0 {
		parts = append(parts, "pid "+strconv.Itoa(p.PID))
	}
	text := strings.Join(parts, ", ")
	if p.Host == "" {
		return cmp.Or(text, p.Program)
	}
	return strings.TrimSpace(text + " on " + p.Host)
}

// Stored is what a Client stores about its process.
type Stored struct {
	Process
	ExpectMS int64    `json:"expect_ms,omitempty"`
	Exported []string `json:"exported,omitempty"` // hashes of tenures that no process renews by itself
}

// Text returns the form in Redis.
func (s Stored) Text() string {
	s.ExpectMS = s.Expect.Milliseconds()
	text, err := json.Marshal(s)
	if err != nil { // strings and a number
		panic("holdfast: " + err.Error())
	}
	return string(text)
}

// Parse reads and cleans what Text returned. Every client that writes to Redis can store any
// text: Parse returns false if it is something else.
func Parse(text string) (s Stored, ok bool) {
	if len(text) > maxText || json.Unmarshal([]byte(text), &s) != nil {
		return Stored{}, false
	}
	s.Expect = time.Duration(max(0, min(s.ExpectMS, MaxExpect.Milliseconds()))) * time.Millisecond
	s.Process = s.Clean()
	return s, true
}
