//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// exitsVariable holds, in the environment of a child, the URL of a server: it gives up
// a Lock there and exits.
const exitsVariable = "HOLDFAST_TEST_EXITS"

// giveUpAndExit waits for a name that is held, and exits right after the end of the
// wait, without Close.
func giveUpAndExit(url string) error {
	store, err := clienttest.Drivers[0].Try(url, clienttest.Way{})
	if err != nil {
		return err
	}
	client := holdfast.New(store, &holdfast.Options{Owner: "exits"})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := client.Mutex("n").Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("lock: got %w, want DeadlineExceeded", err)
	}
	if deadline, _ := ctx.Deadline(); time.Since(deadline) >= 20*time.Millisecond {
		fmt.Println("slow") // Redis, or this machine: Lock does not wait for longer
	}
	return nil
}

// A program that exits as soon as a cancelled Lock has returned leaves no place in the
// queue, unless Redis took longer than Lock waits.
func TestProgramsThatExitAtOnce(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	holder := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "holder", TTL: clienttest.Long})
	lease := clienttest.Take(t, holder, "n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const programs = 100
	slow := 0
	for range programs {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), exitsVariable+"="+server.URL())
		out, err := cmd.CombinedOutput()
		switch {
		case err != nil:
			t.Fatalf("%v: %s", err, out)
		case len(out) > 0:
			slow++
			server.MustDo(t, "DEL", clienttest.QueueKey("n"))
		default:
			if got := server.MustDo(t, "ZRANGE", clienttest.QueueKey("n"), 0, -1); got != "" {
				t.Fatalf("a program left %q in the queue", got)
			}
		}
	}
	t.Logf("%d of %d programs left nothing; for the others Redis took longer than 20 ms", programs-slow, programs)
	if slow == programs {
		t.Error("Redis was too slow for all of them")
	}
	clienttest.GiveBack(t, lease)
}
