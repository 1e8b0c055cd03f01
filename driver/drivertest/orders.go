package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
)

// revoke: a revoked lease ends, and the name stays with its tenure until Release.
func revoke(t *testing.T, s suite) {
	holder, operator := s.client(t, 6*time.Second), s.client(t, 0)
	lease := lock(t, holder.Mutex("revoke"))
	hash := tenure(t, operator, "revoke")
	if _, err := admin.Of(operator).Revoke(bounded(t), "revoke", hash, "to be drained"); err != nil {
		t.Fatalf("Revoke: %v", err)
	}
	ended(t, lease, holdfast.Revoked, "to be drained")
	if got := tenure(t, operator, "revoke"); got != hash {
		t.Errorf("after Revoke: got %s as the holder, want %s until Release", got, hash)
	}
	if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Release: got %v, want ErrLost", err)
	}
	release(t, lock(t, operator.Mutex("revoke")))
	if _, err := admin.Of(operator).Revoke(bounded(t), "revoke", hash, "too late"); !errors.Is(err, holdfast.ErrTenure) {
		t.Errorf("Revoke of a tenure that is over: got %v, want ErrTenure", err)
	}
}

// steal: the next waiter gets the name, and the old holder learns why.
func steal(t *testing.T, s suite) {
	holder, waiter, operator := s.client(t, 6*time.Second), s.client(t, 0), s.client(t, 0)
	lease := lock(t, holder.Mutex("steal"))
	got := make(chan *holdfast.Lease, 1)
	go func() {
		next, err := waiter.Mutex("steal").Lock(bounded(t))
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- next
	}()
	waiting(t, operator, "steal", 1)
	hash := tenure(t, operator, "steal")
	if err := admin.Of(operator).Steal(bounded(t), "steal", hash, "stuck"); err != nil {
		t.Fatalf("Steal: %v", err)
	}
	next := <-got
	if next == nil {
		return
	}
	if next.Token() <= lease.Token() {
		t.Errorf("token %d after %d: tokens must rise", next.Token(), lease.Token())
	}
	ended(t, lease, holdfast.Stolen, "stuck")
	if err := admin.Of(operator).Steal(bounded(t), "steal", hash, "again"); !errors.Is(err, holdfast.ErrTenure) {
		t.Errorf("Steal of a tenure that is over: got %v, want ErrTenure", err)
	}
	release(t, next)
	stealForOneself(t, s)
}

// stealForOneself: the caller of Mutex.Steal gets the name, and not the next waiter.
func stealForOneself(t *testing.T, s suite) {
	holder, waiter, operator := s.client(t, 6*time.Second), s.client(t, 0), s.client(t, 0)
	lease := lock(t, holder.Mutex("take"))
	got := make(chan *holdfast.Lease, 1)
	go func() {
		next, err := waiter.Mutex("take").Lock(bounded(t))
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- next
	}()
	waiting(t, operator, "take", 1)
	hash := tenure(t, operator, "take")
	thief, err := operator.Mutex("take").Steal(bounded(t), hash, "stuck")
	if err != nil {
		t.Fatalf("Mutex.Steal: %v", err)
	}
	waiting(t, operator, "take", 1)
	ended(t, lease, holdfast.Stolen, "stuck")
	if _, err := waiter.Mutex("take").Steal(bounded(t), hash, "again"); !errors.Is(err, holdfast.ErrTenure) {
		t.Errorf("Mutex.Steal of a tenure that is over: got %v, want ErrTenure", err)
	}
	release(t, thief)
	if next := <-got; next != nil {
		if lease.Token() >= thief.Token() || thief.Token() >= next.Token() {
			t.Errorf("tokens %d, %d, %d: they must rise", lease.Token(), thief.Token(), next.Token())
		}
		release(t, next)
	}
}

// adopt: EnsureHeld confirms a lease, and an exported lease goes on in another process.
func adopt(t *testing.T, s suite) {
	exporter, adopter := s.client(t, 0), s.client(t, 0)
	lease := lock(t, exporter.Mutex("adopt"))
	if err := lease.EnsureHeld(bounded(t)); err != nil {
		t.Fatalf("EnsureHeld: %v", err)
	}
	text, err := lease.Export()
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	ended(t, lease, holdfast.Exported, "")
	if _, err := exporter.Mutex("adopt").TryLock(bounded(t)); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryLock of what is exported: got %v, want ErrHeld", err)
	}
	adopted, err := adopter.Adopt(bounded(t), text)
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if adopted.Token() <= lease.Token() {
		t.Errorf("token %d after %d: tokens must rise", adopted.Token(), lease.Token())
	}
	if _, err := exporter.Adopt(bounded(t), text); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("a second Adopt: got %v, want ErrLost", err)
	}
	if err := adopted.EnsureHeld(bounded(t)); err != nil {
		t.Errorf("EnsureHeld of what is adopted: %v", err)
	}
	release(t, adopted)
	release(t, lock(t, exporter.Mutex("adopt")))
}
