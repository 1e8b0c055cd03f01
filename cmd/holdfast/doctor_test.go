//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/doctor"
)

// What doctor finds is in its exit code: 0, 1 and 2 for a server that is made
// worse step by step, and what to do stands beside it.
func TestDoctorExitCodes(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	for _, step := range []struct {
		change []string
		code   int
		want   string
	}{
		{[]string{"PING"}, doctor.ExitWarn, "WARN     persistence  no append-only file\n"},
		{[]string{"CONFIG", "SET", "appendonly", "yes"}, 0, "OK       persistence  append-only file\n"},
		{[]string{"CONFIG", "SET", "maxmemory-policy", "volatile-lru"}, doctor.ExitWarn, "do: CONFIG SET maxmemory-policy noeviction"},
		{[]string{"CONFIG", "SET", "maxmemory", "1gb"}, doctor.ExitFail, "FAIL     memory       maxmemory-policy volatile-lru, maxmemory 1024 MiB\n"},
		{[]string{"REPLICAOF", "127.0.0.1", "1"}, doctor.ExitFail, "FAIL     server       redis "},
	} {
		server.do(t, step.change...)
		wantShown(t, step.code, step.want, "doctor", "--redis", server.url())
	}
}

// Who has a wrong password, or may not do enough, is told so by doctor too: it is
// a finding and no exit code of its own.
func TestDoctorWithoutRights(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	line := aclLine(t, "app")
	server.do(t, line...)
	wantShown(t, doctor.ExitFail, "FAIL     connection   ", "doctor", "--redis", strings.Replace(server.urlFor("app"), "pw", "wrong", 1))
	wantShown(t, 0, "OK       rights       all required rights\n", "doctor", "--redis", server.urlFor("app"))
	server.do(t, "ACL", "SETUSER", "app", "-zadd", "-scan")
	text := wantShown(t, doctor.ExitFail, "FAIL     rights       missing: +zadd +scan\n", "doctor", "--redis", server.urlFor("app"))
	if want := "the server's user lacks a right that holdfast needs, +zadd: "; !strings.Contains(text, want) {
		t.Errorf("got %s, want %q in it", text, want)
	}
}
