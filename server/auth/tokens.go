package auth

import (
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
// The file is read again after each change. Lines with a mistake are ignored. If
// the file has no valid line, cannot be read or is gone, it may be half written.
// So the previous tokens count for 2 s. Then all tokens are refused.
type Tokens struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex // protects the rest
	list    []token
	wrong   error     // with the file; nil: nothing
	warned  time.Time // when that was logged
	good    time.Time // when the file was last seen with a token in it
	checked time.Time
	seen    os.FileInfo // of what was read; nil: read it again
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
	var err error
	if t.list, err = t.load(); err != nil {
		return nil, fmt.Errorf("server: tokens: %w", err)
	}
	t.good = time.Now()
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

// load reads the file if it has changed. It takes size and time before it reads, so it notices a
// change during the read. It reads again while the file is younger than grain or has a mistake.
func (t *Tokens) load() ([]token, error) {
	info, err := os.Stat(t.path)
	if err == nil && t.seen != nil && info.ModTime().Equal(t.seen.ModTime()) && info.Size() == t.seen.Size() && os.SameFile(info, t.seen) {
		return t.list, nil
	}
	t.seen = nil
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		return nil, err
	}
	list, err := parseTokens(data)
	if err != nil {
		return list, fmt.Errorf("%s: %w", t.path, err)
	}
	if time.Since(info.ModTime()) >= grain {
		t.seen = info
	}
	return list, nil
}

const (
	grain       = 2 * time.Second // two changes within it may have the same file time
	halfWritten = 2 * time.Second // how long a file may have no token while it is written
	warnEvery   = time.Minute
)

// parseTokens returns the tokens of all good lines, and the mistake in the first bad one.
func parseTokens(data []byte) (list []token, wrong error) {
	n, bad := 0, 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		v, err := parseToken(line)
		if err == nil {
			list = append(list, v)
		} else if bad++; bad == 1 {
			wrong = fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch {
	case bad > 1:
		wrong = fmt.Errorf("%w (%d lines have a mistake)", wrong, bad)
	case bad == 0 && len(list) == 0:
		wrong = fmt.Errorf("the file has no token: add one")
	}
	return list, wrong
}

func parseToken(line string) (token, error) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return token{}, fmt.Errorf("want role, SHA-256 of the token and a label")
	}
	sum, err := hex.DecodeString(fields[1])
	role := Role(slices.Index(roles, fields[0]))
	switch {
	case role < Viewer:
		return token{}, fmt.Errorf("unknown role %.20q: want viewer, user or admin", fields[0])
	case err != nil || len(sum) != sha256.Size:
		return token{}, fmt.Errorf("the second word must be the SHA-256 of a token, 64 hexadecimal digits, never the token itself")
	}
	return token{role, [sha256.Size]byte(sum), strings.Join(fields[2:], " ")}, nil
}

// Authenticate returns the principal of a token, and false if there is none. It
// takes the same time for every token.
func (t *Tokens) Authenticate(secret string) (Principal, bool) {
	found := t.find(sha256.Sum256([]byte(secret)))
	return found, found.Role > Anonymous
}

func (t *Tokens) find(sum [sha256.Size]byte) (found Principal) {
	for _, v := range t.current() {
		if subtle.ConstantTimeCompare(sum[:], v.hash[:]) == 1 {
			found = Principal{v.label, v.role, v.hash, t}
		}
	}
	return found
}

// Check returns how many tokens count, and what is wrong with the file; nil means nothing.
func (t *Tokens) Check() (valid int, wrong error) {
	valid = len(t.current())
	t.mu.Lock()
	defer t.mu.Unlock()
	return valid, t.wrong
}

// current returns the present tokens. It looks at the file once a second.
func (t *Tokens) current() []token {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.checked) > time.Second {
		t.checked = now
		t.look(now)
	}
	return t.list
}

func (t *Tokens) look(now time.Time) {
	list, err := t.load()
	if len(list) > 0 {
		t.good = now
	} else if now.Sub(t.good) <= halfWritten {
		return
	}
	if err != nil && (t.wrong == nil || t.wrong.Error() != err.Error() || now.Sub(t.warned) >= warnEvery) {
		t.warned = now
		if len(list) == 0 {
			t.logger.Error("server: the token file gives no token, so all tokens are refused", "error", err)
		} else {
			t.logger.Warn("server: the token file has a mistake; the other lines count", "error", err)
		}
	}
	if err == nil && t.wrong != nil {
		t.logger.Info("server: the token file has no mistake now; all its tokens count", "tokens", len(list))
	}
	t.list, t.wrong = list, err
}
