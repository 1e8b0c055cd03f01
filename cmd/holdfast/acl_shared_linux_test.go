package main

import (
	"os"
	"strings"
	"testing"
)

// The further rights that docs/guide/08-operating.md gives semaphores and RWMutexes are enough
// for the command: to run, to wait, to resize, to look. And who may not look at an
// election's term or a run of Once still sees the rest.
func TestLeastRightsShared(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	const more = "+hmget +hset +hstrlen +zcount +zremrangebyrank +unlink"
	if !strings.Contains(string(text), "`"+more+"`") {
		t.Fatalf("docs/guide/08-operating.md does not name %s", more)
	}
	server := startRedis(t)
	server.do(t, append(aclLine(t, "app"), strings.Fields(more)...)...)
	server.do(t, "ACL", "SETUSER", "app", "+xrange", "+xrevrange", "+xlen") // show asks the journal since when permits are held
	server.do(t, "ACL", "LOG", "RESET")
	url := server.urlFor("app")
	for _, kind := range kinds {
		holder := startRun(t, url, going, kind.holds, "--owner", "first", "--no-journal")
		holder.pid("pid")
		waiter := startRun(t, url, "true", "-v", kind.waits, "--no-journal")
		waiter.says("queued: job is held by first; 1st in the queue")
		wantShown(t, 0, "first", "ls", "--redis", url)
		wantShown(t, 0, "first", "show", "job", "--redis", url)
		if kind.name == "permits" {
			wantShown(t, 0, "1 of 1 permits", "resize", "job", "1", "--redis", url)
		}
		holder.write("stop")
		holder.wantExit(0)
		waiter.wantExit(0)
	}
	if got := server.do(t, "ACL", "LOG"); got != "*0\r\n" {
		t.Errorf("the server refused: %s", got)
	}

	server.do(t, "ACL", "SETUSER", "app", "resetkeys", "~holdfast:*", "~holdfast/fence:*", "~holdfast/queue:*")
	holder := startRun(t, url, going, "--owner", "first")
	holder.pid("pid")
	wantShown(t, 0, "last run of job unknown: ", "show", "job", "-v", "--redis", url)
	wantShown(t, 0, "unknown whether job is an election: ", "ls", "-v", "--redis", url)
}
