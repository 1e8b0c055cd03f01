//go:build interop

package interop_test

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

//go:embed js/*.js js/package.json js/package-lock.json js/.npmrc py/client.py
var programs embed.FS

// client is a lock client of another language.
type client struct {
	kind string
	key  string // that it locks; holdfast locks the name that is equal to it
	args func(dir string) []string
}

var clients = []client{
	{"redlock", "interop:redlock", func(dir string) []string { return []string{"node", filepath.Join(dir, "js", "client.js"), "redlock"} }},
	{"semaphore", "mutex:interop", func(dir string) []string { return []string{"node", filepath.Join(dir, "js", "client.js"), "semaphore"} }},
	{"python", "interop:python", func(dir string) []string { return []string{python(), filepath.Join(dir, "py", "client.py")} }},
}

// dir is where the programs are, with the packages they need.
var dir string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "interop"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := install(); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		return 1
	}
	return m.Run()
}

// install copies the programs out of the tree, so that npm writes nothing into
// it, and fetches what they need.
func install() error {
	if err := os.CopyFS(dir, programs); err != nil {
		return err
	}
	npm := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	npm.Dir = filepath.Join(dir, "js")
	if output, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w (node and npm are needed)\n%s", err, output)
	}
	if python() == "" {
		return fmt.Errorf("no python3 here can import redis: install redis-py (Debian: apt-get install python3-redis)")
	}
	return nil
}

// python is the first of the system's python3 and the one in PATH that has
// redis-py; a package of the distribution belongs to the former.
var python = sync.OnceValue(func() string {
	for _, path := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(path, "-c", "import redis.lock").Run() == nil {
			return path
		}
	}
	return ""
})

// foreign is a running program of a client.
type foreign struct {
	stdin   io.Writer
	answers chan string // closed when it ends
	stderr  lockedBuffer
}

// start starts the client's program. It ends with the test.
func (c client) start(t *testing.T, server *redistest.Server) *foreign {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	args := append(c.args(dir), port, c.key)
	cmd := exec.Command(args[0], args[1:]...)
	f := &foreign{answers: make(chan string, 1)}
	cmd.Stderr = &f.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Launch(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.answers)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			f.answers <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it waits for the next line, or hangs
		for range f.answers {
		}
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", c.kind, f.stderr.String())
		}
	})
	return f
}

func (f *foreign) say(t *testing.T, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(f.stdin, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
}

// answer waits for the next line.
func (f *foreign) answer(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-f.answers:
		if !ok {
			t.Fatalf("the foreign client ended: %s", strings.TrimSpace(f.stderr.String()))
		}
		return line
	case <-time.After(90 * time.Second):
		t.Fatal("no answer from the foreign client")
	}
	return ""
}

// must says a line and wants one answer to it.
func (f *foreign) must(t *testing.T, line, want string) {
	t.Helper()
	f.say(t, "%s", line)
	if got := f.answer(t); got != want {
		t.Fatalf("%s: got %q, want %q", line, got, want)
	}
}

// lockedBuffer is a bytes.Buffer that may be read while the process writes it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // protected by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
