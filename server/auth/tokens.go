package auth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tokens are the tokens of a file and their roles. The file has one token per
// line: role, SHA-256 of the token in hex, and a label for people, separated by
// spaces. Empty lines and lines that begin with # are ignored. The file does
// not contain the token itself. The hash is not slow, so the token must be
// random, as [NewToken] makes it, and not a password.
//
// The file is read again after each change. If it cannot be read then, or has a
// mistake, that is logged and the previous contents stay in force.
type Tokens struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex // guards the rest
	list    []token
	checked time.Time
	seen    os.FileInfo // of what was read; nil: read it again
	text    []byte      // that was read
}

type token struct {
	role  Role
	hash  [sha256.Size]byte
	label string
}

// OpenTokens reads a file of tokens. A nil logger means slog.Default().
func OpenTokens(path string, logger *slog.Logger) (*Tokens, error) {
	if logger == nil {
		logger = slog.Default()
	}
	t := &Tokens{path: path, logger: logger}
	if err := t.load(); err != nil {
		return nil, fmt.Errorf("server: tokens: %w", err)
	}
	return t, nil
}

// NewToken makes a random token, and its line for the file of [Tokens].
func NewToken(role Role, label string) (secret, line string, err error) {
	label = strings.TrimSpace(label)
	switch {
	case role < Viewer || role > Admin:
		return "", "", fmt.Errorf("server: the role of a token must be viewer, user or admin")
	case label == "" || strings.ContainsAny(label, "\r\n") || len(label) > 64:
		return "", "", fmt.Errorf("server: a token needs a label that names its user: one line of at most 64 bytes")
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	secret = "hf_" + base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(secret))
	return secret, fmt.Sprintf("%s %s %s", role, hex.EncodeToString(sum[:]), label), nil
}

// load reads the file. How it looks is taken before: a change while it is read, or within
// the grain of its times after that, is another one to read.
func (t *Tokens) load() error {
	info, err := os.Stat(t.path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	t.seen = info
	if time.Since(info.ModTime()) < grain {
		t.seen = nil
	}
	if t.text != nil && bytes.Equal(data, t.text) { // a mistake is logged once
		return nil
	}
	t.text = data
	list, err := parseTokens(data)
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	t.list = list
	return nil
}

// grain is within what two changes of a file may have one time.
const grain = 2 * time.Second

func parseTokens(data []byte) (list []token, err error) {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %d: want role, SHA-256 of the token and a label", n)
		}
		sum, err := hex.DecodeString(fields[1])
		role := Role(slices.Index(roles, fields[0]))
		switch {
		case role < Viewer:
			return nil, fmt.Errorf("line %d: unknown role %q: want viewer, user or admin", n, fields[0])
		case err != nil || len(sum) != sha256.Size:
			return nil, fmt.Errorf("line %d: the second word must be the SHA-256 of a token, 64 hexadecimal digits, never the token itself", n)
		}
		list = append(list, token{role, [sha256.Size]byte(sum), strings.Join(fields[2:], " ")})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the file has no token: add one")
	}
	return list, nil
}

// Authenticate returns the principal of a token, and false if there is none. It
// takes the same time for every token.
func (t *Tokens) Authenticate(secret string) (Principal, bool) {
	sum := sha256.Sum256([]byte(secret))
	var found Principal
	for _, v := range t.current() {
		if subtle.ConstantTimeCompare(sum[:], v.hash[:]) == 1 {
			found = Principal{v.label, v.role, v.hash}
		}
	}
	return found, found.Role > Anonymous
}

// current are the tokens of now: once a second the file is looked at.
func (t *Tokens) current() []token {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.checked) > time.Second {
		t.checked = now
		info, err := os.Stat(t.path)
		if err == nil && (t.seen == nil || !info.ModTime().Equal(t.seen.ModTime()) || info.Size() != t.seen.Size() || !os.SameFile(info, t.seen)) {
			err = t.load()
		}
		if err != nil {
			t.logger.Warn("server: could not reload the tokens; the previous ones stay valid", "error", err)
		}
	}
	return t.list
}
