package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A percentile is a sample, and few samples have no 99th.
func TestPercentile(t *testing.T) {
	var samples []time.Duration
	for n := range 100 {
		samples = append(samples, ms(100-n))
	}
	m := newMeasure("", samples)
	for p, want := range map[int]time.Duration{0: ms(1), 50: ms(50), 90: ms(90), 99: ms(99), 100: ms(100)} {
		if got := m.percentile(p); got != want {
			t.Errorf("percentile %d: got %v, want %v", p, got, want)
		}
	}
	if !m.enough() || newMeasure("", samples[1:]).enough() {
		t.Error("want a p99 of 100 samples, and none of 99")
	}
	if got, want := newMeasure("", samples[:1]).percentile(50), ms(100); got != want {
		t.Errorf("of one sample: got %v, want %v", got, want)
	}
}

// The keys are those that the documents name, whatever braces the prefix has.
func TestKeysBeside(t *testing.T) {
	if got, want := keysBeside("p:a"), []string{"p:a", "holdfast/fence:{p:a}", "holdfast/queue:{p:a}"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := keysBeside("{p}:a"), []string{"{p}:a", "holdfast/fence::{p}:a", "holdfast/queue::{p}:a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Who interrupts a measurement finds nothing left, and the code of ctrl-C.
func TestBenchInterrupted(t *testing.T) {
	server := newServer(t)
	cmd := command("bench", "-q", "--redis", server.URL(), "--duration", "5s", "--prefix", "{p}:")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	await(t, "a lock", func() bool { return strings.Contains(keys(t, server), "holdfast/fence::{p}:bench-") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got, want := cmd.ProcessState.ExitCode(), exitInterrupted; got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
	if got := keys(t, server); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
