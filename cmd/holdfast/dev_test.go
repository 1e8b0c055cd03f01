package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

func TestDev(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout, writeEnd := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- runInProcess(ctx, writeEnd, &stderr, "dev", "--addr", "127.0.0.1:0")
		writeEnd.Close()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("dev printed no URL: %v", err)
	}
	serverURL := strings.TrimSpace(line)

	var shown bytes.Buffer
	if got, want := runInProcess(ctx, &shown, &shown, "show", "job", "--redis", serverURL), 0; got != want {
		t.Errorf("show on %s: exit code %d, want %d: %s", serverURL, got, want, &shown)
	}
	cancel()
	if got, want := <-ended, 0; got != want {
		t.Errorf("dev: exit code %d, want %d: %s", got, want, &stderr)
	}
	if want := "export HOLDFAST_REDIS_URL=" + serverURL; !strings.Contains(stderr.String(), want) {
		t.Errorf("dev said %q, want it to say %q", &stderr, want)
	}
}

func TestDevAddressTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var out bytes.Buffer
	if got, want := runInProcess(t.Context(), &out, &out, "dev", "--addr", taken.Addr().String()), cli.ExitUnreachable; got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
	if want := "is in use; --addr 127.0.0.1:0 uses any free port"; !strings.Contains(out.String(), want) {
		t.Errorf("said %q, want it to say %q", &out, want)
	}
}
