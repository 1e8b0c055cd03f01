package auth_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server/auth"
)

// soon waits until f is true, in simulated time.
func soon(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// tokenFile is a file with a token of a viewer and one of an admin.
type tokenFile struct {
	t               *testing.T
	path            string
	list            *auth.Tokens
	log             strings.Builder
	viewer, admin   string // tokens
	viewers, admins string // their lines
}

func newTokenFile(t *testing.T) *tokenFile {
	t.Helper()
	f := &tokenFile{t: t, path: filepath.Join(t.TempDir(), "tokens")}
	var err error
	if f.viewer, f.viewers, err = auth.NewToken(auth.Viewer, "team of viewer"); err != nil {
		t.Fatal(err)
	}
	if f.admin, f.admins, err = auth.NewToken(auth.Admin, "team of admin"); err != nil {
		t.Fatal(err)
	}
	f.write(f.viewers, f.admins)
	if f.list, err = auth.OpenTokens(f.path, slog.New(slog.NewTextHandler(&f.log, nil))); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *tokenFile) write(lines ...string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(strings.Join(append(lines, ""), "\n")), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *tokenFile) valid(secret string) bool { _, ok := f.list.Authenticate(secret); return ok }

// logged counts the log lines with a text.
func (f *tokenFile) logged(text string) int { return strings.Count(f.log.String(), text) }

// A token that is taken out of the file is no more, also when another line has a mistake; the other
// lines count. A server does not start with a mistake.
func TestTokensAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTokenFile(t)
		if p, ok := f.list.Authenticate(f.admin); !ok || p.Role != auth.Admin || p.Label != "team of admin" {
			t.Fatalf("got %+v, %v", p, ok)
		}
		f.write("admin nonsense", f.viewers, "user")
		soon(t, "the token is no more", func() bool { return !f.valid(f.admin) })
		if !f.valid(f.viewer) {
			t.Error("a mistake in one line has ended the token of another")
		}
		if valid, wrong := f.list.Check(); valid != 1 || wrong == nil || !strings.Contains(wrong.Error(), "line 1: ") || !strings.Contains(wrong.Error(), "2 lines") {
			t.Errorf("Check: %d, %v", valid, wrong)
		}
		for end := time.Now().Add(3*time.Minute + 30*time.Second); time.Now().Before(end); time.Sleep(time.Second) {
			f.valid(f.viewer)
		}
		if got := f.logged("the other lines count"); got < 3 || got > 4 {
			t.Errorf("the mistake was logged %d times in 3.5 min; want once a minute:\n%s", got, &f.log)
		}
		f.write(f.viewers, f.admins)
		soon(t, "the token counts again", func() bool { return f.valid(f.admin) })
		if valid, wrong := f.list.Check(); valid != 2 || wrong != nil {
			t.Errorf("Check: %d, %v", valid, wrong)
		}
		for _, wrong := range []string{"", "# none\n", "root " + strings.Repeat("a", 64) + " x\n", "user hf_secret x\n", "user " + strings.Repeat("a", 64) + "\n", f.viewers + "\nuser x\n"} {
			f.write(wrong)
			if _, err := auth.OpenTokens(f.path, slog.New(slog.DiscardHandler)); err == nil {
				t.Errorf("%q: want an error", wrong)
			}
		}
	})
}

// A file without a token may be half written, so it is read again; then nobody is let in.
func TestTokensAreGone(t *testing.T) {
	for what, spoil := range map[string]func(f *tokenFile){
		"empty":     func(f *tokenFile) { f.write() },
		"bad alone": func(f *tokenFile) { f.write("admin nonsense") },
		"deleted":   func(f *tokenFile) { _ = os.Remove(f.path) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTokenFile(t)
				f.valid(f.admin) // it looks once a second
				time.Sleep(1100 * time.Millisecond)
				spoil(f)
				if !f.valid(f.admin) {
					t.Error("the file is half written, and nobody is let in")
				}
				f.write(f.viewers, f.admins)
				time.Sleep(1100 * time.Millisecond)
				if !f.valid(f.admin) || f.log.Len() > 0 {
					t.Errorf("the file was written: %s", &f.log)
				}
				spoil(f)
				began := time.Now()
				soon(t, "nobody is let in", func() bool { return !f.valid(f.admin) && !f.valid(f.viewer) })
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("they were let in for %v", took)
				}
				if valid, wrong := f.list.Check(); valid != 0 || wrong == nil || f.logged("all tokens are refused") != 1 {
					t.Errorf("Check: %d, %v; %s", valid, wrong, &f.log)
				}
				f.write(f.viewers, f.admins)
				soon(t, "they count again", func() bool { return f.valid(f.admin) })
				time.Sleep(time.Hour) // without a request
				spoil(f)
				time.Sleep(time.Hour)
				if f.valid(f.admin) {
					t.Error("the first request after an hour is let in")
				}
			})
		})
	}
}

// A change of the tokens that comes within the grain of the file's times is seen.
func TestTokensOfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, first, err := auth.NewToken(auth.User, "ci")
		if err != nil {
			t.Fatal(err)
		}
		two, second, err := auth.NewToken(auth.User, "ci")
		if err != nil {
			t.Fatal(err)
		}
		file := t.TempDir() + "/tokens"
		at := time.Now()
		write := func(line string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
		write(first)
		list, err := auth.OpenTokens(file, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		write(second) // of the same length and time
		soon(t, "the one that was taken out is no more", func() bool {
			_, old := list.Authenticate(one)
			_, anew := list.Authenticate(two)
			return anew && !old
		})
	})
}
