// Command notice writes the licences of all software that is linked into the command or
// embedded in it: the Go standard library, every module, and assets.
//
//	go run ./packaging/notice linux/amd64 windows/amd64 >NOTICE
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	command = "./cmd/holdfast"
	ours    = "github.com/holdfast-go/holdfast"
	rule    = "================================================================================"
)

var (
	licence = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)`)
	foreign = regexp.MustCompile(`(\.min\.|\.(woff2?|ttf|otf)$)`) // a file that others wrote
)

// parts has, for each thing that has a licence of its own (a module, the standard
// library, a directory of assets), the texts of its licence files by their paths.
type parts map[string]map[string]string

// linked is a package that is linked into the command, as go list shows it.
type linked struct {
	Dir, ImportPath string
	Standard        bool
	EmbedFiles      []string
	Module          *struct{ Path, Version, Dir string }
}

func main() {
	if err := write(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

func write(out io.Writer, platforms []string) error {
	if len(platforms) == 0 {
		return errors.New("usage: notice GOOS/GOARCH..., such as linux/amd64")
	}
	all := parts{}
	if err := all.addStandard(); err != nil {
		return err
	}
	for _, platform := range platforms {
		packages, err := list(platform)
		if err != nil {
			return err
		}
		for _, p := range packages {
			if err := all.add(p); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(out, all.String())
	return err
}

// list is every package of the command on a platform.
func list(platform string) (packages []linked, err error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no platform; want GOOS/GOARCH, such as linux/amd64", platform)
	}
	text, err := goCommand([]string{"GOOS=" + system, "GOARCH=" + arch, "CGO_ENABLED=0", "GOFLAGS="},
		"list", "-deps", "-json=Dir,ImportPath,Standard,EmbedFiles,Module", command)
	if err != nil {
		return nil, err
	}
	for stream := json.NewDecoder(bytes.NewReader(text)); ; {
		var p linked
		switch err := stream.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		packages = append(packages, p)
	}
}

func goCommand(env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return text, nil
}

// add adds the licences that cover the package. It is an error if there are none.
func (all parts) add(p linked) error {
	switch {
	case p.Standard:
		return nil
	case p.Module == nil:
		return fmt.Errorf("%s is in no module", p.ImportPath)
	case p.Module.Path == ours || strings.HasPrefix(p.Module.Path, ours+"/"):
		return all.addAssets(p)
	}
	return all.addUpwards(p.Module.Path+" "+p.Module.Version, p.Module.Dir, p.Dir)
}

func (all parts) addStandard() error {
	text, err := goCommand(nil, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return all.addUpwards("Go standard library "+version, root, root)
}

// addAssets adds the licences beside files of others that one of our packages embeds.
func (all parts) addAssets(p linked) error {
	for _, file := range p.EmbedFiles {
		if !foreign.MatchString(file) {
			continue
		}
		dir := filepath.Join(p.Dir, filepath.FromSlash(path.Dir(file)))
		name := strings.Replace(filepath.Base(dir), "-", " ", 1) // such as uplot-1.6.32
		if err := all.addUpwards(name, dir, dir); err != nil {
			return err
		}
	}
	return nil
}

// addUpwards adds the licence files of dir and of the directories above it, up to root: a
// package may have a licence of its own beside that of its module.
func (all parts) addUpwards(name, root, dir string) error {
	texts := map[string]string{}
	for from := dir; ; from = filepath.Dir(from) {
		if err := read(texts, root, from); err != nil {
			return err
		}
		if from == root {
			break
		}
	}
	if len(texts) == 0 {
		return fmt.Errorf("%s has no licence file in %s: without a licence we may not ship it", name, dir)
	}
	if all[name] == nil {
		all[name] = map[string]string{}
	}
	maps.Copy(all[name], texts)
	return nil
}

// read reads the licence files of dir, by their paths in root.
func read(texts map[string]string, root, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() || !licence.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		texts[filepath.ToSlash(relative)] = strings.Trim(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	}
	return nil
}

// String is the whole text: for each part a rule, its name, and each of its texts after
// a line with the name of the file.
func (all parts) String() string {
	var b strings.Builder
	b.WriteString("The command holdfast has the licence of the file LICENSE. It contains the software below.\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("\n" + rule + "\n" + name + "\n")
		for _, file := range slices.Sorted(maps.Keys(all[name])) {
			b.WriteString("\n--- " + file + "\n\n" + all[name][file] + "\n")
		}
	}
	return b.String()
}
