package mutation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	scripts   = "internal/script"
	scriptsIn = "HOLDFAST_MUTATED_SCRIPTS" // the variable that tells a program where they are
)

// scriptsFromDisk makes package script read its files when a program starts: one program
// serves for all changes of scripts. To build it takes longer than most tests.
var scriptsFromDisk = mutation{
	what: "scripts are embedded", in: scripts + " read, expand", imports: []string{"os"},
	edits: []string{"fs.Glob(files", `fs.Glob(os.DirFS(os.Getenv("` + scriptsIn + `"))`, "files.ReadFile(", `os.ReadFile(os.Getenv("` + scriptsIn + `") + "/" + `},
}

// programs are the tests of packages, built once, that read the scripts from a directory.
type programs struct {
	root, dir string
	done      sync.Map // what was built or has passed
}

// passes runs a test with the scripts as they are, once, and returns how long it took.
func (p *programs) passes(ctx context.Context, dir, test string) (time.Duration, error) {
	return once(&p.done, dir+" "+test, func() (time.Duration, error) {
		cmd, err := p.run(ctx, dir, test, filepath.Join(p.root, scripts), time.Minute)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "no tests to run") {
			return 0, fmt.Errorf("%s does not pass with the scripts as they are: %w\n%s", test, err, out)
		}
		return time.Since(began), nil
	})
}

// run returns a command that runs a test with the scripts of a directory.
func (p *programs) run(ctx context.Context, dir, test, scripts string, timeout time.Duration) (*exec.Cmd, error) {
	program, err := once(&p.done, dir, func() (string, error) { return p.build(dir) })
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "-test.timeout", timeout.String(), "-test.run", "^"+test+"$")
	cmd.Dir = filepath.Join(p.root, dir)
	cmd.Env = append(os.Environ(), scriptsIn+"="+scripts)
	return cmd, nil
}

// build builds the tests of a package.
func (p *programs) build(dir string) (program string, err error) {
	program = filepath.Join(p.dir, strings.ReplaceAll(filepath.Clean(dir), "/", "_")+".test")
	changed, err := scriptsFromDisk.change(p.root)
	if err != nil {
		return "", err
	}
	overlay, err := overlay(p.root, program+".d", changed)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "go", "test", "-vet", "off", "-overlay", overlay, "-c", "-o", program, dir)
	cmd.Dir = p.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build: %w\n%s", dir, err, out)
	}
	return program, nil
}

// once does what a key stands for, the first time, and returns what that returned.
func once[T any](done *sync.Map, key string, do func() (T, error)) (T, error) {
	f, _ := done.LoadOrStore(key, sync.OnceValues(do))
	return f.(func() (T, error))()
}
