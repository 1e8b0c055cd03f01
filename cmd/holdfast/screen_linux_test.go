package main

import (
	"os"
	"strings"
	"testing"
)

// Colours are for terminals, and for those who do not mind them.
func TestColours(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for _, test := range []struct {
		env  string
		want bool
	}{{"TERM=xterm", true}, {"NO_COLOR=1", false}, {"TERM=dumb", false}} {
		terminal, _, shown := openTerminal(t, 100)
		cmd := command("ls", "--redis", server.URL())
		cmd.Env = append(os.Environ(), "NO_COLOR=", "TERM=xterm", test.env)
		cmd.Stdout = terminal
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		terminal.Close()
		until(t, "the table is shown", func() bool { return strings.Contains(shown.String(), "TOKENS UP TO") })
		if got := strings.Contains(shown.String(), "\x1b["); got != test.want {
			t.Errorf("with %s: colours %t, want %t: %q", test.env, got, test.want, shown)
		}
	}
}
