package drivers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A driver that stands outside this repository, in a module of its own, passes the suite. So
// package driver has all that a driver needs: another module can't import what is internal.
// docs/drivers.md shows its code.
func TestOutsideDriverConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/outside")); err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/mystore\n\ngo 1.26.0\n\n" +
		"require github.com/holdfast-go/holdfast v0.1.0\n\nreplace github.com/holdfast-go/holdfast => " + root + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t, redistest.Options{})
	master := redistest.Start(t, redistest.Options{Config: []string{"repl-diskless-sync-delay 0"}})
	replica := redistest.Replicas(t, master, 1)[0]
	test := exec.CommandContext(t.Context(), "go", "test", "-count", "1", ".")
	test.Dir = dir
	test.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=", "REDIS_ADDRESS="+server.Addr(), "MASTER_ADDRESS="+master.Addr(), "REPLICA_ADDRESS="+replica.Addr())
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}
