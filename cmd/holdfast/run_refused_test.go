//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// A bounded wait for a free name that Redis refuses to give, as its memory is full, does
// not say that another holds it, whatever -E is. It does if another holds it.
func TestRunExitRefusedWait(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	holder := startRun(t, server.url(), note("pid", "$$")+idle, "--owner", "first")
	holder.pid("pid")
	server.do(t, "CONFIG", "SET", "maxmemory", "1")
	said := func(code int, want string, args ...string) {
		t.Helper()
		cmd := command(append([]string{"--redis", server.url()}, args...)...)
		cmd.Stderr = nil
		text, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(text), want) {
			t.Errorf("%v: exit code %d, want %d, and %q in:\n%s", args, got, code, want, text)
		}
	}
	said(cli.ExitUnreachable, " refused: OOM ", "run", "-w", "500ms", "-E0", "free", "--", "true")
	said(cli.ExitUnreachable, "; gave up after ", "run", "-w", "500ms", "--quiet", "--shared", "readers", "--", "true")
	said(cli.ExitUnreachable, " refused: OOM ", "acquire", "-w", "500ms", "free")
	said(cli.ExitTempFail, "job is held by first", "run", "-w", "500ms", "job", "--", "true")
	server.do(t, "CONFIG", "SET", "maxmemory", "0")
	said(0, "", "run", "-w", "500ms", "free", "--", "true")
}
