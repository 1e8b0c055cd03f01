package drivers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const outside = "testdata/outside"

// A driver that stands outside this repository, in a module of its own, passes the suite. So
// package driver has all that a driver needs: another module can't import what is internal.
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
	if err := os.CopyFS(dir, os.DirFS(outside)); err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/mystore\n\ngo 1.26.0\n\n" +
		"require github.com/holdfast-go/holdfast v0.1.0\n\nreplace github.com/holdfast-go/holdfast => " + root + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t, redistest.Options{})
	test := exec.CommandContext(t.Context(), "go", "test", "-race", "-count", "1", ".")
	test.Dir = dir
	test.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=", "REDIS_ADDRESS="+server.Addr())
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}

// docs/drivers.md shows code of that driver, and no other.
func TestOutsideDriverIsShown(t *testing.T) {
	var code strings.Builder
	files, _ := filepath.Glob(outside + "/*.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	page, err := os.ReadFile("../../docs/drivers.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatal("the page shows no code")
	}
	for _, block := range blocks {
		if !strings.Contains(code.String(), block[1]) {
			t.Errorf("the driver in %s does not have this code of the page:\n%s", outside, block[1])
		}
	}
}
