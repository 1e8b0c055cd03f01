package clienttest

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// Patience is what nothing waits for when all is well.
const Patience = 30 * time.Second

// Ended waits for the end of a subscription.
func Ended(t testing.TB, sub driver.Subscription) {
	t.Helper()
	select {
	case <-sub.Done():
	case <-time.After(Patience):
		t.Fatal("the subscription did not end")
	}
}

// Eventually waits until ok is true, and ends the test when that takes too long.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// Slack is what a test waits for beyond the time that it names, on a slow machine. Less
// than what a waiter sleeps that was told nothing.
const Slack = 8 * time.Second
