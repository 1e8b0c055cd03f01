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

// A token that is taken out of the file is no more; a file with a mistake changes nothing.
func TestTokensAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines, secrets []string
		for _, role := range []auth.Role{auth.Viewer, auth.Admin} {
			secret, line, err := auth.NewToken(role, "team of "+role.String())
			if err != nil {
				t.Fatal(err)
			}
			lines, secrets = append(lines, line), append(secrets, secret)
		}
		file, admin := filepath.Join(t.TempDir(), "tokens"), secrets[1]
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := auth.OpenTokens(file, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := list.Authenticate(admin); !ok || p.Role != auth.Admin || p.Label != "team of admin" {
			t.Fatalf("got %+v, %v", p, ok)
		}
		replace := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		replace("admin nonsense\n")
		time.Sleep(1100 * time.Millisecond) // it looks once a second; that it does not change can't be polled for
		if _, ok := list.Authenticate(admin); !ok {
			t.Error("a mistake in the file has shut everybody out")
		}
		_, line, err := auth.NewToken(auth.Viewer, "x")
		if err != nil {
			t.Fatal(err)
		}
		replace(line + "\n")
		soon(t, "the token is no more", func() bool { _, ok := list.Authenticate(admin); return !ok })
		for _, wrong := range []string{"", "# none\n", "root " + strings.Repeat("a", 64) + " x\n", "user hf_secret x\n", "user " + strings.Repeat("a", 64) + "\n"} {
			replace(wrong)
			if _, err := auth.OpenTokens(file, slog.New(slog.DiscardHandler)); err == nil {
				t.Errorf("%q: want an error", wrong)
			}
		}
	})
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
