package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// startLocked starts a server with the password hunter2, for the default user and for app.
func startLocked(t *testing.T) *realServer {
	t.Helper()
	server := startRedis(t)
	server.do(t, "ACL", "SETUSER", "app", "on", ">hunter2", "~*", "&*", "+@all")
	server.lock(t, "hunter2")
	return server
}

// lock gives the default user a password. Connections stay.
func (s *realServer) lock(t *testing.T, password string) {
	t.Helper()
	s.do(t, "CONFIG", "SET", "requirepass", password)
	s.password = password
}

// newestSubscriber returns the id of the newest connection that subscribes, which takes a password.
func (s *realServer) newestSubscriber(t *testing.T) (newest int) {
	t.Helper()
	for line := range strings.Lines(s.do(t, "CLIENT", "LIST")) {
		var id int
		if _, text, ok := strings.Cut(line, "id="); ok && strings.Contains(line, " sub=1 ") {
			_, _ = fmt.Sscan(text, &id)
		}
		newest = max(newest, id)
	}
	return newest
}

// passwordFile returns a file that only we can read.
func passwordFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withParent has a process and the process that has started it.
func withParent(t *testing.T, pid int) map[string]string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // state and parent follow
	return map[string]string{"the command": fmt.Sprint(pid), "its guard": strings.Fields(rest)[1]}
}

func procFile(t *testing.T, pid, name string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\x00", "\n")
}

// A command finds no password of Redis in its environment or that of its guard, unless --pass-url
// asks for it.
func TestRunPassesNoPassword(t *testing.T) {
	t.Parallel()
	server := startLocked(t)
	script := note("pid", "$$") + idle
	for _, test := range []struct {
		args   []string
		passed bool
	}{
		{[]string{"run", "a"}, false},
		{[]string{"elect", "b"}, false},
		{[]string{"run", "--pass-url", "c"}, true},
		{[]string{"elect", "--pass-url", "d"}, true},
	} {
		url := "redis://app:hunter2@" + server.addr
		r := start(t, url, nil, append(test.args, "--", "sh", "-c", script)...)
		pid := r.pid("pid")
		want := "HOLDFAST_REDIS_URL=redis://app@" + server.addr + "\n"
		if test.passed {
			want = "HOLDFAST_REDIS_URL=" + url + "\n"
		}
		for who, pid := range withParent(t, pid) {
			environment := procFile(t, pid, "environ")
			if strings.Contains(environment, "hunter2") != test.passed || !strings.Contains(environment, want) {
				t.Errorf("%s: %s has the environment\n%s\nwant %s", test.args, who, environment, want)
			}
		}
		r.send(syscall.SIGTERM)
		r.wantExit(128 + int(syscall.SIGTERM))
	}
}

// A nested command says how it gets a password, and reports a deadlock if it has one.
func TestRunNestedPassword(t *testing.T) {
	t.Parallel()
	server := startLocked(t)
	file := passwordFile(t, "hunter2\n")
	for url, nested := range map[string]string{
		"redis://:hunter2@" + server.addr:    "redis://" + server.addr + " refused: NOAUTH: ",
		"redis://app:hunter2@" + server.addr: "redis://" + server.addr + ": a user without a password: ",
	} {
		r := start(t, url, nil, "run", "a", "--", "holdfast", "run", "b", "--", "true")
		r.wantExit(cli.ExitNoPerm)
		r.wantSaid("holdfast: " + nested + "the outer command passes on no password: give it --pass-url, or give --redis-password-file FILE to this command")
		start(t, url, nil, "run", "--pass-url", "a", "--", "holdfast", "run", "b", "--", "true").wantExit(0)
		for _, own := range []string{"", "export HOLDFAST_REDIS_PASSWORD_FILE=" + file + "; "} {
			variables := []string{"HOLDFAST_REDIS_PASSWORD_FILE=" + file} // of the outer command, which passes it on
			if own != "" {
				variables = nil
			}
			r := start(t, url, variables, "run", "a", "--", "sh", "-c", own+"holdfast run a -- true")
			r.wantDeadlock("a")
		}
	}
}

// The error for a user without a password names the file first: it keeps the password out of ps.
func TestUserWithoutPassword(t *testing.T) {
	t.Parallel()
	r := start(t, "redis://app@127.0.0.1:1", nil, "run", "a", "--", "true")
	r.wantExit(cli.ExitUsage)
	r.wantSaid("holdfast: redis://127.0.0.1:1: a user without a password: put the password into a file for --redis-password-file, or into HOLDFAST_REDIS_URL: redis://")
}

// With the password in a file no process shows it in ps, and commands work for each kind of URL.
func TestPasswordFile(t *testing.T) {
	t.Parallel()
	server := startLocked(t)
	file := passwordFile(t, "hunter2\r\n")
	for i, url := range []string{server.url(), "redis://app@" + server.addr, "redis://app:@" + server.addr + "/0", "redis://:hunter2@" + server.addr} {
		flags := []string{"--redis", url, "--redis-password-file", file}
		if strings.Contains(url, ":hunter2") { // the URL takes precedence
			flags[3] = passwordFile(t, "wrong")
		}
		for _, words := range []string{"run job -- true", "elect --once job -- true", fmt.Sprint("acquire -q lease", i), "ls", "show job"} {
			before, after, _ := strings.Cut(words, " -- ")
			args := append(strings.Fields(before), flags...)
			if after != "" {
				args = append(args, "--", after)
			}
			if out, err := command(args...).Output(); err != nil {
				t.Errorf("%s: %v: %s", args, err, out)
			}
		}
	}
	wantShown(t, cli.ExitNoPerm, "correct the user and the password in the URL: redis://USER:PASSWORD@HOST:PORT, or in the file of --redis-password-file",
		"ls", "--redis", server.url(), "--redis-password-file", passwordFile(t, "wrong"))
	wantShown(t, cli.ExitNoPerm, server.addr, "quorum", "status", server.url())
	wantShown(t, cli.ExitTempFail, server.addr, "quorum", "status", server.url(), "--redis-password-file", file)

	r := start(t, server.url(), nil, "run", "--redis-password-file", file, "other", "--", "sh", "-c", note("pid", "$$")+idle)
	serve := startServe(t, server.url(), "--redis-password-file", file)
	shown := withParent(t, r.pid("pid"))
	shown["run"], shown["serve"] = fmt.Sprint(r.Process.Pid), fmt.Sprint(serve.Process.Pid)
	for who, pid := range shown {
		if text := procFile(t, pid, "cmdline") + procFile(t, pid, "environ"); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the password:\n%s", who, text)
		}
	}
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
}

// A file that holds no password is an error, which shows nothing of it. A file that all can read
// is reported.
func TestPasswordFileRefused(t *testing.T) {
	t.Parallel()
	server := startLocked(t)
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"):         "--redis-password-file: open " + dir,
		dir:                                   "--redis-password-file: read " + dir,
		passwordFile(t, "\n"):                 " is empty",
		passwordFile(t, "hunter2\nhunter3\n"): " has more than one line: want a password",
		passwordFile(t, strings.Repeat("hunter2", 1000)): " has more than 4096 bytes: want a password",
	} {
		for _, args := range [][]string{{"ls"}, {"run", "-w", "1m", "job", "--", "true"}} {
			flags := append([]string{args[0], "--redis", server.url(), "--redis-password-file", path}, args[1:]...)
			if text := wantShown(t, cli.ExitConfig, want, flags...); strings.Contains(text, "hunter") {
				t.Errorf("%q shows what is in the file", text)
			}
		}
	}
	r := start(t, server.url(), []string{"HOLDFAST_REDIS_PASSWORD_FILE=" + filepath.Join(dir, "missing")}, "ls")
	r.wantExit(cli.ExitConfig)
	r.wantSaid("holdfast: HOLDFAST_REDIS_PASSWORD_FILE: open ")
	open := passwordFile(t, "hunter2")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	const warning = "holdfast: all users of this machine can read the password in "
	if text := wantShown(t, 0, warning+open+": chmod o-r ", "bench", "-d", "100ms", "--redis", server.url(), "--redis-password-file", open); strings.Count(text, warning) != 1 {
		t.Errorf("said %q, want one warning", text)
	}
	if text := wantShown(t, 0, "", "ls", "--redis", server.url(), "--redis-password-file", passwordFile(t, "hunter2")); strings.Contains(text, warning) {
		t.Errorf("said %q, want no warning", text)
	}
}

// A new password works without a restart: the next connection reads the file again. A file that is
// empty for a moment changes nothing. A pipe is read once.
func TestPasswordRotated(t *testing.T) {
	t.Parallel()
	server := startLocked(t)
	file := passwordFile(t, "hunter2\n")
	hold := note("pid", "$$") + "while [ ! -e stop ]; do sleep 0.02; done"
	r := start(t, server.url(), nil, "run", "--redis-password-file", file, "--ttl", "20s", "job", "--", "sh", "-c", hold)
	r.pid("pid")
	until(t, "it subscribes", func() bool { return server.newestSubscriber(t) > 0 })
	reconnect := func(change func()) {
		t.Helper()
		change()
		newest := server.newestSubscriber(t)
		server.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		server.do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		until(t, "it is connected again", func() bool { return server.newestSubscriber(t) > newest })
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reconnect(func() { write("") })
	reconnect(func() {
		server.lock(t, "hunter3")
		write("hunter3\n")
	})
	r.write("stop")
	r.wantExit(0)
}

// The password is for the master only: a Sentinel does not get it.
func TestPasswordFileIsNotForSentinels(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sent := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var all []byte
		for piece := make([]byte, 1024); !bytes.Contains(all, []byte("SETNAME")); { // it stands behind AUTH
			n, err := conn.Read(piece)
			if all = append(all, piece[:n]...); err != nil {
				break
			}
		}
		sent <- string(all)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		done <- runInProcess(ctx, io.Discard, io.Discard, "ls", "--redis", "sentinel://"+listener.Addr().String()+"/main", "--redis-password-file", passwordFile(t, "hunter2"))
	}()
	if got := <-sent; !strings.Contains(got, "SETNAME") || strings.Contains(got, "hunter2") {
		t.Errorf("a Sentinel got %q, want a greeting without the password", got)
	}
	cancel()
	<-done
}
