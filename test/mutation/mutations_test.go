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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	part = flag.String("part", "", "make each `M`th mutation, from the Nth on: N/M; 0/1 is all of them")
	fit  = flag.Bool("fit", false, "only check that each row fits the code, builds and names a test: a minute")
	only = flag.String("what", "", "only rows with a text that matches this regular `expression`; without -part, all of these")
)

// TestMutations checks all rows, see checker, and makes the mutations that -part names, two at once. Without a
// flag it does nothing: all of them take most of an hour.
func TestMutations(t *testing.T) {
	if *part == "" && *only == "" && !*fit {
		t.Skip("-args -part 0/1 makes every mutation, -args -what REGEXP some, -args -fit checks the rows")
	}
	var n, parts int
	if _, err := fmt.Sscanf(cmp.Or(*part, "0/1"), "%d/%d", &n, &parts); err != nil || n < 0 || n >= parts {
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
	if !slices.ContainsFunc(rows, func(m mutation) bool { return pattern.MatchString(m.what) }) {
		t.Fatalf("-what %s: no row matches", *only)
	}
	misfits := misfits(t, root, pattern)
	if *fit {
		return
	}
	dir := t.TempDir()
	built := &programs{root: root, dir: dir}
	tried, caught := 0, 0
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, m := range rows {
		if i%parts != n || !pattern.MatchString(m.what) || misfits[m.what] {
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			said, err := m.test(root, filepath.Join(dir, fmt.Sprint(i)), built)
			mu.Lock()
			defer mu.Unlock()
			tried++
			if err != nil {
				said = "NOT CAUGHT: " + err.Error()
			} else {
				caught++
			}
			fmt.Printf("%-55s %-34s %-34s %5.1fs  %s\n", m.what, m.in, m.name, time.Since(began).Seconds(), said)
		})
	}
	running.Wait()
	fmt.Printf("%d mutations, %d caught; %d rows do not fit\n", tried, caught, len(misfits))
	if caught < tried {
		t.Errorf("%d mutations survive: no test fails", tried-caught)
	}
}

// misfits are the rows that cannot be tried. Each is reported.
func misfits(t *testing.T, root string, pattern *regexp.Regexp) map[string]bool {
	c, err := newChecker(root, rows)
	if err != nil {
		t.Fatal(err)
	}
	known, wrong := map[string]bool{}, map[string]bool{}
	for _, m := range rows {
		if !pattern.MatchString(m.what) {
			continue
		}
		if err := c.check(m); err != nil {
			wrong[m.what] = true
			t.Errorf("DOES NOT FIT: %s, in %s: %v", m.what, m.in, err)
		} else if known[m.what] {
			t.Errorf("DOES NOT FIT: %s: there are two", m.what)
		}
		known[m.what] = true
	}
	fmt.Printf("%d rows, %d fit\n", len(known), len(known)-len(wrong))
	return wrong
}

// rootDir is where go.work stands.
func rootDir() (string, error) {
	out, err := exec.Command("go", "env", "GOWORK").Output() //nolint:noctx // it ends by itself
	if err != nil {
		return "", fmt.Errorf("go env GOWORK: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// mutation is a row of the tables: in a function, each old text is replaced by the new text after it.
// Then the test name in pkg must fail. See piece for how a row finds its place.
type mutation struct {
	what    string
	in      string   // "internal/machine Name.step": a directory and a declaration, or several, with commas; or a script
	where   string   // a text that stands there, too: it says which names are meant, where the old text alone would not
	edits   []string // old, new, old, new …
	imports []string // what the new text needs
	pkg     string
	name    string
}

// rows are those of all tables.
var rows []mutation

// table adds rows. Each table of this package calls it.
func table(more []mutation) bool {
	rows = append(rows, more...)
	return true
}

// test returns how the mutation was caught.
func (m mutation) test(root, dir string, built *programs) (how string, err error) {
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute+m.limit())
	defer cancel()
	cmd, err := m.command(ctx, root, dir, built)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case err == nil:
		return "", fmt.Errorf("%s passes", m.name)
	case strings.Contains(text, "[build failed]"):
		return "", fmt.Errorf("it does not build:\n%s", text)
	case !strings.Contains(text, "--- FAIL: "+m.name) && !strings.Contains(text, "panic:"):
		return "", fmt.Errorf("the test did not run:\n%s", text)
	}
	if strings.Contains(text, "panic: test timed out") {
		if m.searches() {
			return "", fmt.Errorf("%s did not end within %v, which proves nothing", m.name, m.limit())
		}
		return "caught: it did not end in time", nil // it may only be slow
	}
	return "caught", nil
}

// command runs its test on the changed code.
func (m mutation) command(ctx context.Context, root, dir string, built *programs) (*exec.Cmd, error) {
	if path.Ext(m.in) == ".lua" {
		took, err := built.passes(ctx, m.packageDir(), m.name)
		if err != nil {
			return nil, err
		}
		if err := m.writeScripts(root, dir); err != nil {
			return nil, err
		}
		return built.run(ctx, m.packageDir(), m.name, dir, min(10*time.Second+3*took, 40*time.Second))
	}
	changed, err := m.change(root)
	if err != nil {
		return nil, err
	}
	overlay, err := overlay(root, dir, changed)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-vet", "off", "-overlay", overlay, "-count", "1", "-timeout", m.limit().String(),
		"-run", "^"+m.name+"$", m.packageDir())
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay) // of tests that build programs
	return cmd, nil
}

// searches is whether its test goes through states: that takes long on a busy machine, also without a mutation.
func (m mutation) searches() bool { return strings.HasPrefix(m.name, "TestSearch") }

// limit is how long its test may take.
func (m mutation) limit() time.Duration {
	if m.searches() {
		return 5 * time.Minute
	}
	return 40 * time.Second
}

// writeScripts writes all scripts to a directory, the changed one among them.
func (m mutation) writeScripts(root, dir string) error {
	changed, err := m.change(root)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, scripts))); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, strings.TrimPrefix(m.in, scripts)), []byte(changed[m.in]), 0o600)
}

// packageDir is where its test stands.
func (m mutation) packageDir() string { return cmp.Or(m.pkg, "./test/sim") }

// overlay writes the changed files and a list of what they stand for, as the go command takes it.
func overlay(root, dir string, changed map[string]string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "overlay.json")
	return to, os.WriteFile(to, list, 0o600)
}
