package redistest_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestStartIsItsOwnProcess(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	info := s.MustDo(t, "INFO", "server")
	if want := "process_id:" + strconv.Itoa(s.Pid()) + "\r\n"; !strings.Contains(info, want) {
		t.Errorf("the server is another process than %q:\n%s", want, info)
	}
	if got, want := s.URL(), "redis://"+s.Addr(); got != want {
		t.Errorf("URL: got %q, want %q", got, want)
	}
}

func TestDo(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"SET", "a", "1 2\r\n3"}, "OK"},
		{[]any{"GET", "a"}, "1 2\r\n3"},
		{[]any{"GET", "none"}, ""},
		{[]any{"INCRBY", "n", 41}, "41"},
		{[]any{"EVAL", "return {1, {'x', 'y'}, false}", 0}, "1\nx\ny\n"},
		{[]any{"EVAL", "return {}", 0}, ""},
	} {
		if got := s.MustDo(t, c.args...); got != c.want {
			t.Errorf("%v: got %q, want %q", c.args, got, c.want)
		}
	}
	_, err := s.Do("NOSUCHCOMMAND")
	if e := redistest.Error(""); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "ERR unknown command") {
		t.Errorf("unknown command: got %v, want the server's error", err)
	}
}

func TestFreezeThaw(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatalf("the kernel accepts connections of a frozen server: %v", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 7)
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(answer); err == nil {
		t.Fatalf("a frozen server answered %q", answer[:n])
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err := conn.Read(answer)
	if got, want := string(answer[:n]), "+PONG\r\n"; got != want {
		t.Errorf("after Thaw: got %q, %v, want %q", got, err, want)
	}
}

func TestKillRestart(t *testing.T) {
	s := redistest.Start(t, redistest.Options{AOF: true})
	addr, pid := s.Addr(), s.Pid()
	s.MustDo(t, "SET", "a", "kept")

	s.Kill()
	if _, err := s.Do("PING"); err == nil {
		t.Error("a killed server answered")
	}
	if got := s.Pid(); got != 0 {
		t.Errorf("Pid of a killed server: got %d, want 0", got)
	}
	if err := s.Freeze(); err == nil {
		t.Error("Freeze of a killed server: got nil, want an error")
	}

	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	if got, want := s.MustDo(t, "GET", "a"), "kept"; got != want {
		t.Errorf("after Restart(false): got %q, want %q", got, want)
	}
	if s.Addr() != addr || s.Pid() == pid {
		t.Errorf("Restart: got %s pid %d, want %s and another pid than %d", s.Addr(), s.Pid(), addr, pid)
	}

	if err := s.Restart(true); err != nil {
		t.Fatal(err)
	}
	if got, want := s.MustDo(t, "DBSIZE"), "0"; got != want {
		t.Errorf("keys after Restart(true): got %s, want %s", got, want)
	}
}

func TestPasswordAndACL(t *testing.T) {
	s := redistest.Start(t, redistest.Options{
		Password: "p w",
		ACL:      []string{"user app on >secret ~holdfast* +get"},
	})
	if got, want := s.URL(), "redis://:p%20w@"+s.Addr(); got != want {
		t.Errorf("URL: got %q, want %q", got, want)
	}
	if got, want := s.MustDo(t, "ACL", "WHOAMI"), "redistest"; got != want {
		t.Errorf("Do runs as %q, want %q", got, want)
	}
	got := s.MustDo(t, "ACL", "DRYRUN", "app", "SET", "holdfast:a", "1")
	if want := "no permissions to run the 'set' command"; !strings.Contains(got, want) {
		t.Errorf("app's SET: got %q, want %q in it", got, want)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if got, want := string(answer[:n]), "-NOAUTH"; !strings.HasPrefix(got, want) {
		t.Errorf("without a password: got %q, %v, want %q", got, err, want)
	}
}

func TestConfigMemorySocket(t *testing.T) {
	s := redistest.Start(t, redistest.Options{
		MaxMemory: "10mb",
		Socket:    true,
		Config:    []string{"maxmemory-policy allkeys-lru"},
	})
	for setting, want := range map[string]string{"maxmemory": "10485760", "maxmemory-policy": "allkeys-lru"} {
		if got := s.MustDo(t, "CONFIG", "GET", setting); got != setting+"\n"+want {
			t.Errorf("CONFIG GET: got %q, want %q", got, want)
		}
	}
	conn, err := net.Dial("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestRunSaysWhyTheServerEnded(t *testing.T) {
	_, err := redistest.Run(t.TempDir(), redistest.Options{Config: []string{"no-such-setting 1"}})
	if want := "no-such-setting"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run with a bad setting: got %v, want an error with %q", err, want)
	}
}

func TestRunWithoutRedisServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := redistest.Run(t.TempDir(), redistest.Options{})
	if want := "redis-server is not in PATH"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func TestCommandStats(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	s.MustDo(t, "CONFIG", "RESETSTAT")
	for range 3 {
		s.MustDo(t, "SET", "a", 1)
	}
	s.MustDo(t, "EVAL", "return redis.call('GET', KEYS[1])", 1, "a")
	s.MustDo(t, "CONFIG", "GET", "port")
	stats, err := s.CommandStats()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"set": 3, "eval": 1, "get": 1, "config|get": 1, "config|resetstat": 1, "total": 7,
	}
	for name, n := range want {
		if stats[name] != n {
			t.Errorf("%s: got %d, want %d", name, stats[name], n)
		}
	}
	if len(stats) != len(want) {
		t.Errorf("got %v, want only %v", stats, want)
	}
}
