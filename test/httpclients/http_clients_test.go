//go:build unix

package httpclients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server"
)

// httpPage is docs/http.md.
func httpPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// shownClient writes the blocks of a language on the page to a file: the client, of at most 30
// lines, and how it is used.
func shownClient(t *testing.T, language string) string {
	t.Helper()
	var text string
	for _, rest := range strings.Split(httpPage(t), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(rest, "\n```\n")
		if n := strings.Count(block, "\n") + 1; n > 30 {
			t.Errorf("docs/http.md shows a client in %s of %d lines: want 30 at most", language, n)
		}
		text += block + "\n"
	}
	if text == "" {
		t.Fatalf("docs/http.md shows no client in %s", language)
	}
	file := filepath.Join(t.TempDir(), "client")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// overHTTP serves an API and its Client.
func overHTTP(t *testing.T) (*holdfast.Client, string) {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := holdfast.New(store, nil)
	api, err := server.Handler(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api)
	t.Cleanup(func() {
		s.Close()
		_ = client.Close()
		_ = store.Close()
	})
	return client, s.URL
}

// runs a command and returns its output and exit code.
func runs(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// free fails the test unless nobody has the name.
func free(t *testing.T, client *holdfast.Client, name string) {
	t.Helper()
	state, err := admin.Of(client).Inspect(t.Context(), name)
	if err != nil || state.Holder != nil {
		t.Errorf("Inspect: %+v, %v; want it free", state, err)
	}
}

// The client in Python that docs/http.md shows: it keeps a lease beyond its ttl, releases it,
// is refused where the name is held, and stops when it has lost it.
func TestPythonClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs Python or curl")
	}
	file := shownClient(t, "python")
	client, url := overHTTP(t)
	out, code := runs(t, "python3", file, url, "n/ightly", "5") // of 3 s
	if code != 0 || !strings.Contains(out, "step 4 with token ") {
		t.Errorf("exit %d: %s", code, out)
	}
	free(t, client, "n/ightly")

	sharedInPython(t, file, url)

	stolen := make(chan error, 1)
	go func() {
		for {
			state, err := admin.Of(client).Inspect(t.Context(), "n")
			if err == nil && state.Holder != nil {
				err = admin.Of(client).Steal(t.Context(), "n", state.Holder.Hash, "a test")
			} else if err == nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			stolen <- err
			return
		}
	}()
	out, code = runs(t, "python3", file, url, "n", "60")
	if err := <-stolen; err != nil {
		t.Fatal(err)
	}
	if code == 0 || strings.Contains(out, "step 8") {
		t.Errorf("after a steal: exit %d: %s", code, out)
	}
	lease, err := client.Mutex("n").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil { // it answers 503
		t.Error(err)
	}
	if out, code := runs(t, "python3", file, url, "n", "1"); code == 0 {
		t.Errorf("without a lease: exit 0: %s", out)
	}
	_ = lease.Release()
}

// sharedInPython runs what the page shows of other kinds: each is a lease of its own, and they are
// released.
func sharedInPython(t *testing.T, file, url string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	client, _, _ := strings.Cut(string(page), "\nwith Lease(")
	shown := regexp.MustCompile("`(Lease\\(url, [^`]*\\))`").FindAllStringSubmatch(httpPage(t), -1)
	if len(shown) < 2 {
		t.Fatalf("docs/http.md shows %d leases of other kinds, want 2", len(shown))
	}
	for _, lease := range shown {
		use := fmt.Sprintf("\nurl = sys.argv[1]\nwith %s as one:\n    state = one.ask('GET', '/v1/lease')\n    print('holds', state['name'], one.token == state['token'])\n", lease[1])
		program := filepath.Join(t.TempDir(), "shared")
		if err := os.WriteFile(program, []byte(client+use), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what was not released would be in the way
			if out, code := runs(t, "python3", program, url); code != 0 || !strings.HasPrefix(out, "holds ") || !strings.Contains(out, " True") {
				t.Errorf("%s: exit %d: %s", lease[1], code, out)
			}
		}
	}
}

// The client in shell that docs/http.md shows: it passes on token and exit code, and gives the name
// back.
func TestShellClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs Python or curl")
	}
	file := shownClient(t, "sh")
	client, url := overHTTP(t)
	out, code := runs(t, "sh", file, url, "nightly", "sh", "-c", "echo token $FENCE_TOKEN; exit 3")
	var token int64
	if _, err := fmt.Sscanf(out, "token %d", &token); err != nil || token <= 0 || code != 3 {
		t.Errorf("exit %d: %s", code, out)
	}
	free(t, client, "nightly")
	t.Setenv("kind", `"of": 2`)
	held := "curl -fsS " + url + "/v1/locks/gpu | grep -q '\"size\":2'"
	if out, code = runs(t, "sh", file, url, "gpu", "sh", "-c", held); code != 0 {
		t.Errorf("a permit: exit %d: %s", code, out)
	}
	free(t, client, "gpu")
	t.Setenv("kind", "")
	if out, code = runs(t, "sh", file, url, "bad{name", "echo", "never"); code == 0 || strings.Contains(out, "never") {
		t.Errorf("without a lease: exit %d: %s", code, out)
	}
}

// The commands with curl that docs/http.md shows beside it print JSON, and are not refused.
func TestCurl(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs Python or curl")
	}
	_, url := overHTTP(t)
	shown := regexp.MustCompile(`(?m)^\$ (curl -fsS .*)$`).FindAllStringSubmatch(httpPage(t), -1)
	if len(shown) < 4 {
		t.Errorf("docs/http.md shows %d commands with curl -fsS, want at least 4", len(shown))
	}
	for _, command := range shown {
		out, code := runs(t, "sh", "-c", strings.ReplaceAll(command[1], "http://127.0.0.1:7420", url))
		if code != 0 || !json.Valid([]byte(out)) {
			t.Errorf("%s: exit %d: %s", command[1], code, out)
		}
	}
}

// Each code of a problem is explained where its type points to.
func TestProblemsAreExplained(t *testing.T) {
	var file struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal(server.OpenAPI(), &file); err != nil {
		t.Fatal(err)
	}
	codes := file.Components.Schemas["Problem"].Properties["code"].Enum
	if len(codes) < 20 {
		t.Fatalf("openapi.json has %d codes", len(codes))
	}
	page := httpPage(t)
	for _, code := range codes {
		if !strings.Contains(page, "\n### "+code+"\n") {
			t.Errorf("docs/http.md does not explain %s", code)
		}
	}
}
