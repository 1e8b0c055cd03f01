package model_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Spin, another checker, goes through another model of the same core, and finds
// what happens without each of three guards.
func TestSpin(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is not there, and the second opinion needs it: scripts/need spin gcc installs both where there is apt", tool)
		}
	}
	text, err := filepath.Abs("../../../spec/master.pml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		without string
		want    string // in what pan says
	}{
		{"", "errors: 0"},
		{"-DNO_ID_CHECK", "assertion violated"},
		{"-DCOUNT_FROM_ANSWER", "assertion violated"},
		{"-DNO_LATE_CANCEL", "assertion violated"},
	} {
		t.Run("spin"+c.without, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := []string{"-a", text}
			if c.without != "" {
				args = append([]string{c.without}, args...)
			}
			do(t, dir, "spin", args...)
			do(t, dir, "gcc", "-w", "-O2", "-DSAFETY", "-DMEMLIM=2000", "-o", "pan", "pan.c")
			out := do(t, dir, "./pan", "-E", "-m100000") // -E: that all stand still is no error
			if !strings.Contains(out, c.want) || strings.Contains(out, "max search depth too small") {
				t.Errorf("pan says:\n%s\nwant %q in it", out, c.want)
			}
		})
	}
}

func do(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
