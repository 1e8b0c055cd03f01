// Package attack_test attacks the real command as somebody with little: anonymous clients of its
// server, and a Redis user with the documented rights for some names.
package attack_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
)

var program string // the command

// TestMain builds the command, without the race detector, which needs several times the memory.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "holdfast-attack")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "holdfast")
		if out, err := exec.Command("go", "build", "-o", program, "../../cmd/holdfast").CombinedOutput(); err != nil { //nolint:noctx // it ends by itself
			fmt.Printf("go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// process is the command. It is killed when the test has ended.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  child.Output
	stdin io.Closer
	first string // line that it printed
	ended chan error
}

// start starts the command, and returns when it has printed a line.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...), ended: make(chan error, 1)} //nolint:noctx // it is killed
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append(os.Environ(), "GOMEMLIMIT="+inKubernetes(t, `GOMEMLIMIT, value: (\w+)`))
	p.cmd.Stderr = &p.said
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Launch(p.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	lines, first, over := bufio.NewReader(stdout), make(chan string, 1), make(chan struct{})
	go func() {
		line, _ := lines.ReadString('\n')
		first <- strings.TrimSuffix(line, "\n")
		_, _ = io.Copy(io.Discard, lines)
		p.ended <- p.cmd.Wait()
		close(over)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = stdin.Close()
		<-over
	})
	clienttest.Eventually(t, "it prints a line", func() bool { return len(first) > 0 })
	if p.first = <-first; p.first == "" {
		t.Fatalf("%v has ended:\n%s", args, p.said.String())
	}
	return p
}

// inKubernetes is a setting of deploy/kubernetes.
func inKubernetes(t *testing.T, pattern string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/kubernetes/holdfast.yaml")
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("deploy/kubernetes has no %s: %v", pattern, err)
	}
	return string(found[1])
}

// server is `holdfast serve`, asked with a token.
type server struct {
	*process
	token string // empty: none
}

func serve(t *testing.T, redisURL string, flags ...string) server {
	t.Helper()
	return server{start(t, append([]string{"serve", "--redis", redisURL, "--listen", "127.0.0.1:0", "--grace", "2s"}, flags...)...), ""}
}

func (s server) url() string { return s.first }

// ask sends a request on a connection of its own, and returns the status and what was answered.
func (s server) ask(method, path, body string, headers ...string) (int, map[string]any) {
	s.t.Helper()
	r, err := s.send(method, path, body, headers...)
	if err != nil {
		return 0, nil
	}
	defer r.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(r.Body).Decode(&answer)
	return r.StatusCode, answer
}

// send sends a request on a connection of its own, as curl does.
func (s server) send(method, path, body string, headers ...string) (*http.Response, error) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), method, s.url()+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	q.Close = true
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		q.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	if host := q.Header.Get("Host"); host != "" {
		q.Host = host
	}
	return http.DefaultClient.Do(q)
}

// acquire takes a name by the API, and returns the text of the lease.
func (s server) acquire(name string) string {
	s.t.Helper()
	status, lease := s.ask("POST", "/v1/leases", fmt.Sprintf(`{"name": %q, "ttl": "20s"}`, name))
	text, _ := lease["lease"].(string)
	if status != http.StatusCreated || text == "" {
		s.t.Fatalf("acquire: %d %v", status, lease)
	}
	return text
}
