package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
)

// PasswordFile is --redis-password-file: the password for each URL that has none.
type PasswordFile struct {
	Path string

	once    sync.Once
	again   bool // it is a regular file, which can be read twice
	failure error

	mu   sync.Mutex // protects last
	last string     // what was read last
}

// longestPassword is the most bytes that a password file may have.
const longestPassword = 4 << 10

// NeedsPassword returns what to do if a server wants a password.
func NeedsPassword() string {
	if nested() {
		return "the outer command passes on no password: give it --pass-url, or give --redis-password-file FILE to this command"
	}
	return "put the password into a file for --redis-password-file, or into the URL: redis://:PASSWORD@HOST:PORT, or redis://USER:PASSWORD@HOST:PORT"
}

// WithPassword returns serverURL with the password of the file, unless it has its own. The function
// renewed reads the file again. It returns the new password, or the last one that it could read.
// It is nil if the file cannot be read twice.
func (a *App) WithPassword(serverURL string) (full string, renewed func() string, err error) {
	scheme, rest, isURL := strings.Cut(serverURL, "://")
	login, hosts := splitUser(rest)
	user, password, _ := strings.Cut(login, ":")
	f := &a.PasswordFile
	switch {
	case !isURL, password != "":
		return serverURL, nil, nil
	case f.Path == "" && user != "" && nested():
		return "", nil, Exit(ExitNoPerm, fmt.Errorf("%s: a user without a password: %s", PublicURL(serverURL), NeedsPassword()))
	case f.Path == "" && user != "" && !strings.Contains(login, ":"):
		return "", nil, Usagef("%s: a user without a password: %s", PublicURL(serverURL), NeedsPassword())
	case f.Path == "":
		return serverURL, nil, nil
	}
	f.once.Do(func() { f.failure = f.first(a) })
	if f.failure != nil {
		return "", nil, Exit(ExitConfig, fmt.Errorf("%s: %w", a.Called("redis-password-file"), f.failure))
	}
	password = f.renewed()
	if f.again {
		renewed = f.renewed
	}
	return scheme + "://" + user + url.UserPassword("", password).String() + "@" + hosts, renewed, nil
}

// first reads the file for the first time.
func (f *PasswordFile) first(a *App) error {
	password, err := readPassword(f.Path)
	if err != nil {
		return err
	}
	about, err := os.Stat(f.Path)
	f.last, f.again = password, err == nil && about.Mode().IsRegular()
	if f.again && readByAll(about) {
		a.Say("all users of this machine can read the password in %s: chmod o-r %s", f.Path, f.Path)
	}
	return nil
}

// readByAll reports whether each user may read a file. Windows has no such bits.
func readByAll(about os.FileInfo) bool {
	return runtime.GOOS != "windows" && about.Mode().Perm()&0o004 != 0
}

// renewed returns the newest password.
func (f *PasswordFile) renewed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.again {
		now, err := readPassword(f.Path)
		if err == nil { // else it is being replaced
			f.last = now
		}
	}
	return f.last
}

// readPassword reads a file of one line. Its errors show nothing of that line.
func readPassword(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestPassword+1))
	password := strings.TrimRight(string(text), "\r\n")
	switch {
	case err != nil:
		return "", err
	case password == "":
		return "", fmt.Errorf("%s is empty", path)
	case len(text) > longestPassword:
		return "", fmt.Errorf("%s has more than %d bytes: want a password", path, longestPassword)
	case strings.ContainsAny(password, "\r\n\x00"):
		return "", errors.New(path + " has more than one line: want a password")
	}
	return password, nil
}

// WithoutPasswords returns an environment in which HOLDFAST_REDIS_URL has no password.
func WithoutPasswords(environment []string) []string {
	var clean []string
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if strings.EqualFold(name, variableOf("redis")) { // Windows ignores the case
			variable = name + "=" + withoutPassword(value)
		}
		clean = append(clean, variable)
	}
	return clean
}

// withoutPassword keeps the user and the parameters, because a command with its own password needs
// them. A text that no driver accepts as a URL may have a password anywhere.
func withoutPassword(serverURL string) string {
	scheme, rest, isURL := strings.Cut(serverURL, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if serverURL == "" {
		return ""
	}
	if !isURL || strings.Contains(rest[len(authority):], "@") {
		return PublicURL(serverURL)
	}
	login, hosts := splitUser(rest)
	if user, _, _ := strings.Cut(login, ":"); user != "" {
		scheme += "://" + user + "@"
	} else {
		scheme += "://"
	}
	hosts, query, _ := strings.Cut(hosts, "?")
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if plain, err := url.QueryUnescape(name); err == nil && plain != "" && !strings.Contains(plain, "password") {
			kept = append(kept, parameter)
		}
	}
	if len(kept) > 0 {
		hosts += "?" + strings.Join(kept, "&")
	}
	return scheme + hosts
}
