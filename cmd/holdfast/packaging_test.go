package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// The rights that the manifest for Kubernetes tells of are those that the tests prove.
func TestManifestRights(t *testing.T) {
	t.Parallel()
	documented := regexp.MustCompile(`(?m)^ACL SETUSER app .*$`).FindString(readText(t, "../../docs/guide/08-operating.md"))
	got := regexp.MustCompile(`(?m)^# +(ACL SETUSER app .*)$`).FindStringSubmatch(readText(t, "../../deploy/kubernetes/holdfast.yaml"))
	if documented == "" || len(got) != 2 || got[1] != documented {
		t.Errorf("the manifest has %q, want that of docs/guide/08-operating.md, %q", got, documented)
	}
}

// What the units run is a command of ours with flags that it has, and the codes that
// they call success and not worth another start are the ones we mean.
func TestUnits(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("../../packaging/systemd/*.service")
	if err != nil || len(units) < 2 {
		t.Fatalf("got %v, %v, want the units", units, err)
	}
	for _, unit := range units {
		text := readText(t, unit)
		line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/holdfast (.*)$`).FindStringSubmatch(text)
		if line == nil {
			t.Errorf("%s does not run /usr/bin/holdfast", unit)
			continue
		}
		root := rootCommand((&cli.App{Console: console.NewLines(io.Discard)}))
		args := strings.Fields(strings.ReplaceAll(line[1], "$HOLDFAST_SERVE_FLAGS", ""))
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root && args[0] != "serve" {
			t.Errorf("%s runs %q, want a command of ours", unit, line[1])
			continue
		}
		if cmd == root { // without the server
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s runs %q: %v", unit, line[1], err)
		}
	}
	for file, want := range map[string]string{
		"nightly.service":        "\nSuccessExitStatus=75\n",
		"holdfast-serve.service": "\nRestartPreventExitStatus=64 77 78\n",
	} {
		if !strings.Contains(readText(t, "../../packaging/systemd/"+file), want) {
			t.Errorf("%s lacks %q", file, strings.TrimSpace(want))
		}
	}
}

// What goes into the packages is there, or made by packaging/build; the two lists of
// it, for nfpm and for goreleaser, agree on where it goes.
func TestPackageContents(t *testing.T) {
	t.Parallel()
	nfpm := readText(t, "../../packaging/nfpm.yaml")
	for _, match := range regexp.MustCompile(`(?m)^  - src: (\S+)$`).FindAllStringSubmatch(nfpm, -1) {
		if strings.HasPrefix(match[1], "dist/") || strings.HasPrefix(match[1], "$") {
			continue
		}
		if _, err := os.Stat("../../" + match[1]); err != nil {
			t.Errorf("packaging/nfpm.yaml: %v", err)
		}
	}
	targets := func(text string) []string {
		var all []string
		for _, match := range regexp.MustCompile(`dst: ([^,}\s]+)`).FindAllStringSubmatch(text, -1) {
			if match[1] != "/usr/bin/holdfast" { // goreleaser puts it there by itself
				all = append(all, match[1])
			}
		}
		slices.Sort(all)
		return all
	}
	got := targets(readText(t, "../../packaging/goreleaser.yaml"))
	if want := targets(nfpm); !slices.Equal(got, want) {
		t.Errorf("goreleaser.yaml puts files to %v, want those of nfpm.yaml, %v", got, want)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
