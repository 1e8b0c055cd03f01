// Package notice_test tests the licences that go into archives, packages and the image.
package notice_test

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

const (
	root = "../.."
	ours = "github.com/holdfast-go/holdfast"
)

// allowed are the licences that ask for no more than that their text is kept.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "Unlicense"}

// The NOTICE has everything that is linked into the command, with a licence of an allowed kind.
func TestNotice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	platforms := regexp.MustCompile(`PLATFORMS:=([^}]+)}`).FindStringSubmatch(text(t, "packaging/build"))
	if platforms == nil || !slices.Contains(strings.Fields(platforms[1]), runtime.GOOS+"/"+runtime.GOARCH) {
		t.Skipf("packaging/build builds %q, and nothing for this machine", platforms)
	}
	notice, complaint, err := notice(t, root, strings.Fields(platforms[1])...)
	if err != nil {
		t.Fatalf("%v: %s", err, complaint)
	}
	parts := split(t, notice)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "holdfast"), "./cmd/holdfast")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := buildinfo.ReadFile(filepath.Join(dir, "holdfast"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Go standard library " + info.GoVersion, "uplot 1.6.32", "github.com/inconshreveable/mousetrap v1.1.0"}
	for _, module := range info.Deps {
		if !strings.HasPrefix(module.Path, ours) {
			want = append(want, module.Path+" "+module.Version)
		}
	}
	if len(want) < 20 {
		t.Errorf("the command has only the modules %v", want)
	}
	for _, name := range want {
		if parts[name] == nil {
			t.Errorf("the NOTICE lacks %s, which is in the command", name)
		}
	}
	for name, files := range parts {
		for file, text := range files {
			if strings.HasPrefix(file, "NOTICE") || file == "PATENTS" { // what comes with a licence
				continue
			}
			if wrong := refused(text); wrong != "" {
				t.Errorf("%s, %s: %s: take another module, or think before you allow that licence here", name, file, wrong)
			}
		}
	}
}

// refused says what is wrong with a licence; empty: it is one of those allowed.
func refused(text string) string {
	found := licensecheck.Scan([]byte(text))
	if len(found.Match) == 0 || found.Percent < 75 {
		return "this is no licence that is known"
	}
	for _, match := range found.Match {
		if !slices.Contains(allowed, match.ID) {
			return "the licence is " + match.ID
		}
	}
	return ""
}

// A licence of another kind, one with a clause added, and none at all are refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	mit := text(t, "server/dashboard/assets/uplot-1.6.32/LICENSE")
	if wrong := refused(mit); wrong != "" {
		t.Errorf("MIT: %s", wrong)
	}
	for name, text := range map[string]string{
		"GPL":     "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.",
		"MPL":     "This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not distributed with this file, You can obtain one at http://mozilla.org/MPL/2.0/.",
		"clause":  mit + strings.Repeat("\nThe Software shall be used by nobody whose name begins with an A, nor sold, nor hosted for a fee, without our permission in writing.", 5),
		"nothing": "All rights reserved.",
	} {
		if refused(text) == "" {
			t.Errorf("%s is allowed", name)
		}
	}
}

// A module, or an asset of others, without a licence file makes no NOTICE.
func TestMissingLicence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, missing, want string }{
		{"all", "", ""},
		{"module", "dep/LICENSE", "example.com/dep v1.0.0 has no licence file"},
		{"asset", "cmd/holdfast/chart-1.2/LICENSE", "chart 1.2 has no licence file"},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"go.mod":                              "module " + ours + "\n\ngo 1.26.0\n\nrequire example.com/dep v1.0.0\n\nreplace example.com/dep v1.0.0 => ./dep\n",
			"cmd/holdfast/main.go":                "package main\n\nimport (\n\t_ \"embed\"\n\n\t_ \"example.com/dep/bare\"\n\t_ \"example.com/dep/inner\"\n)\n\n//go:embed chart-1.2/chart.min.js\nvar chart string\n\nfunc main() {}\n",
			"cmd/holdfast/chart-1.2/LICENSE":      "of the chart",
			"cmd/holdfast/chart-1.2/chart.min.js": "",
			"dep/go.mod":                          "module example.com/dep\n\ngo 1.26.0\n",
			"dep/LICENSE":                         "of the module",
			"dep/bare/bare.go":                    "package bare\n",
			"dep/inner/inner.go":                  "package inner\n",
			"dep/inner/COPYING":                   "of a part",
			"dep/other/LICENSE":                   "of what is not linked",
		} {
			if file == test.missing {
				continue
			}
			file = filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		notice, complaint, err := notice(t, dir, "linux/amd64", "windows/amd64")
		if test.want != "" {
			if err == nil || !strings.Contains(complaint, test.want) {
				t.Errorf("%s: %v, %q, want %q", test.name, err, complaint, test.want)
			}
			continue
		}
		parts := split(t, notice)
		if err != nil || parts["chart 1.2"]["LICENSE"] != "of the chart" || len(parts["example.com/dep v1.0.0"]) != 2 {
			t.Errorf("%s: %v, %q, got %v", test.name, err, complaint, parts)
		}
	}
}

// Archives, packages and the image have the NOTICE, and the image can be built: Go needs
// every module of the workspace.
func TestNoticeIsShipped(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"packaging/build":           "go run ./packaging/notice $PLATFORMS >dist/common/NOTICE",
		"packaging/nfpm.yaml":       "src: dist/common/NOTICE",
		"packaging/goreleaser.yaml": "files: [LICENSE, build/NOTICE,",
		"packaging/Dockerfile":      "COPY --from=build /NOTICE /NOTICE",
	} {
		if !strings.Contains(text(t, file), want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	for line := range strings.Lines(text(t, "packaging/Dockerfile.dockerignore")) {
		if line = strings.TrimSpace(line); strings.Contains(text(t, "go.work"), "\t./"+line+"\n") {
			t.Errorf("the image is built without %s, which go.work names", line)
		}
	}
}

// notice runs the program in dir.
func notice(t *testing.T, dir string, platforms ...string) (out, complaint string, err error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "notice")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./packaging/notice")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), program, platforms...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// split is the texts of a NOTICE, by their parts and files.
func split(t *testing.T, notice string) map[string]map[string]string {
	t.Helper()
	parts := map[string]map[string]string{}
	for _, part := range strings.Split(notice, "\n"+strings.Repeat("=", 80)+"\n")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		parts[name] = map[string]string{}
		for _, file := range strings.Split(rest, "\n--- ")[1:] {
			title, text, _ := strings.Cut(file, "\n\n")
			parts[name][title] = strings.TrimSpace(text)
		}
	}
	return parts
}

func text(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
