package mutation

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	part = flag.String("part", "", "remove each `M`th guard, from the Nth on: N/M; 0/1 is all of them")
	only = flag.String("guard", ".", "with -part: only guards that match this regular expression")
	into = flag.String("json", "", "write what became of each to this `file`, too")
)

// TestMutations removes the guards that -part names, one at a time, two at once. Without
// the flag it does nothing: all of them take most of an hour.
func TestMutations(t *testing.T) {
	if *part == "" {
		t.Skip("-args -part 0/1 removes every guard")
	}
	var n, parts int
	if _, err := fmt.Sscanf(*part, "%d/%d", &n, &parts); err != nil || n < 0 || n >= parts {
		t.Fatalf("-part %s: want N/M, N from 0 to M-1", *part)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	root, err := rootDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	built := &programs{root: root, dir: dir}
	var all tally
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, m := range tables {
		if i%parts != n || !pattern.MatchString(m.guard) {
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			late, err := m.test(root, filepath.Join(dir, fmt.Sprint(i)), built)
			mu.Lock()
			defer mu.Unlock()
			all.add(fate{m.guard, m.file, m.name, time.Since(began).Seconds(), err == nil, late}, err)
		})
	}
	running.Wait()
	fmt.Printf("%d mutants, %d caught\n", all.Tried, all.Killed)
	if *into != "" && !filepath.IsAbs(*into) {
		*into = filepath.Join(root, *into) // a test runs in the directory of its package
	}
	if err := all.write(*into); err != nil {
		t.Error(err)
	}
	if alive := all.Tried - all.Killed; alive > 0 {
		t.Errorf("%d guards can be taken out without a test that fails", alive)
	}
}

// tally is what became of all of them.
type tally struct {
	Tried  int    `json:"tried"`
	Killed int    `json:"killed"`
	List   []fate `json:"list"`
}

// fate is what became of one mutant.
type fate struct {
	Guard   string  `json:"guard"`
	File    string  `json:"file"`
	Test    string  `json:"test"`
	Seconds float64 `json:"seconds"` // until it was caught, its build included
	Killed  bool    `json:"killed"`
	Late    bool    `json:"late"` // the test did not end in its time: it may only be slow
}

func (t *tally) add(f fate, err error) {
	t.Tried++
	word := "caught"
	switch {
	case f.Killed:
		t.Killed++
		if f.Late {
			word = "caught: it did not end in time"
		}
	default:
		word = "NOT CAUGHT: " + err.Error()
	}
	t.List = append(t.List, f)
	fmt.Printf("%-55s %-34s %5.1fs  %s\n", f.Guard, f.Test, f.Seconds, word)
}

func (t *tally) write(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// rootDir is where go.work stands.
func rootDir() (string, error) {
	out, err := exec.Command("go", "env", "GOWORK").Output() //nolint:noctx // it ends by itself
	if err != nil {
		return "", fmt.Errorf("go env GOWORK: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// mutant is one guard taken out: in file, each old text becomes the new one
// beside it. The test called name in pkg must fail.
type mutant struct {
	guard string
	file  string
	edits []string // old, new, old, new …
	pkg   string
	name  string
}

// test reports whether the test was stopped because it took too long.
func (m mutant) test(root, dir string, built *programs) (late bool, err error) {
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd, err := m.command(ctx, root, dir, built)
	if err != nil {
		return false, err
	}
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case err == nil:
		return false, fmt.Errorf("%s passes", m.name)
	case strings.Contains(text, "[build failed]"):
		return false, fmt.Errorf("it does not build:\n%s", text)
	case !strings.Contains(text, "--- FAIL: "+m.name) && !strings.Contains(text, "panic:"):
		return false, fmt.Errorf("the test did not run:\n%s", text)
	}
	return strings.Contains(text, "panic: test timed out"), nil
}

// command runs its test on the changed code.
func (m mutant) command(ctx context.Context, root, dir string, built *programs) (*exec.Cmd, error) {
	if path.Ext(m.file) == ".lua" {
		took, err := built.passes(ctx, m.packageDir(), m.name)
		if err != nil {
			return nil, err
		}
		if err := m.writeScripts(root, dir); err != nil {
			return nil, err
		}
		return built.run(ctx, m.packageDir(), m.name, dir, min(10*time.Second+3*took, 40*time.Second))
	}
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-vet", "off", "-overlay", overlay, "-count", "1", "-timeout", "40s",
		"-run", "^"+m.name+"$", m.packageDir())
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay) // of tests that build programs
	return cmd, nil
}

// writeScripts writes all scripts to a directory, the changed one among them.
func (m mutant) writeScripts(root, dir string) error {
	text, err := m.changed(root)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, scripts))); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, strings.TrimPrefix(m.file, scripts)), []byte(text), 0o600)
}

// packageDir is where its test stands.
func (m mutant) packageDir() string { return cmp.Or(m.pkg, "./test/sim") }

// overlay writes the changed file and a list of what it stands for, as the go
// command takes it.
func (m mutant) overlay(root, dir string) (string, error) {
	text, err := m.changed(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, filepath.FromSlash(m.file)): changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// changed is the text of its file without the guard.
func (m mutant) changed(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	text := string(data)
	for i := 0; i < len(m.edits); i += 2 {
		if n := strings.Count(text, m.edits[i]); n != 1 {
			return "", fmt.Errorf("%s holds %q %d times; want it once: bring the table up to date", m.file, m.edits[i], n)
		}
		text = strings.Replace(text, m.edits[i], m.edits[i+1], 1)
	}
	return text, nil
}
