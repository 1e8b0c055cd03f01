package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
)

// exported: a hold without a process is renewed, checked and released by its text.
func exported(t *testing.T, s suite) {
	exporter, other := s.client(t, 0), s.client(t, 0)
	lease := lock(t, exporter.Mutex("exported"))
	text, err := lease.Export()
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	for what, ask := range map[string]func() (*holdfast.ExportedHold, error){
		"RenewExported": func() (*holdfast.ExportedHold, error) { return other.RenewExported(bounded(t), text) },
		"CheckExported": func() (*holdfast.ExportedHold, error) { return other.CheckExported(bounded(t), text) },
	} {
		got, err := ask()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got.Name != "exported" || got.Token != lease.Token() || got.Remaining <= 0 || got.Remaining >= got.TTL {
			t.Errorf("%s: got %+v, want token %d and less than the ttl", what, got, lease.Token())
		}
	}
	if err := other.ReleaseExported(bounded(t), text); err != nil {
		t.Fatalf("ReleaseExported: %v", err)
	}
	if err := other.ReleaseExported(bounded(t), text); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("a second ReleaseExported: got %v, want ErrLost", err)
	}
	next := lock(t, other.Mutex("exported"))
	if next.Token() <= lease.Token() {
		t.Errorf("token %d after %d: tokens must rise", next.Token(), lease.Token())
	}
	release(t, next)
}

// exportedShared: a part of a shared lock without a process is renewed, checked and released by its
// text, and cannot be adopted.
func exportedShared(t *testing.T, s suite) {
	exporter, other := s.client(t, 0), s.client(t, 0)
	sem := exporter.Semaphore("exported-shared", 2)
	sem.Owner, sem.TTL = "for ann", 20*time.Second
	lease, err := sem.Acquire(bounded(t), 2)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	text, err := lease.Export()
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	if err := exporter.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if got, err := other.Adopt(bounded(t), text); err == nil {
		t.Errorf("Adopt: got a lease with token %d, want an error", got.Token())
	}
	for what, ask := range map[string]func() (*holdfast.ExportedHold, error){
		"RenewExported": func() (*holdfast.ExportedHold, error) { return other.RenewExported(bounded(t), text) },
		"CheckExported": func() (*holdfast.ExportedHold, error) { return other.CheckExported(bounded(t), text) },
	} {
		if got, err := ask(); err != nil || got.Token != lease.Token() || got.Owner != "for ann" || got.TTL != sem.TTL || got.Remaining <= 0 || got.Remaining >= got.TTL {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	if _, err := other.Semaphore("exported-shared", 2).TryAcquire(bounded(t), 1); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryAcquire of what is exported: got %v, want ErrHeld", err)
	}
	if err := other.ReleaseExported(bounded(t), text); err != nil {
		t.Fatalf("ReleaseExported: %v", err)
	}
	if _, err := other.RenewExported(bounded(t), text); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("RenewExported after the release: got %v, want ErrLost", err)
	}
	next, err := other.Semaphore("exported-shared", 2).TryAcquire(bounded(t), 2)
	if err != nil {
		t.Fatalf("TryAcquire after the release: %v", err)
	}
	release(t, next)
}

// dedicated: a lease can have its own owner and TTL. Others see them, it waits in the queue, and it
// outlives its TTL.
func dedicated(t *testing.T, s suite) {
	client, other := s.client(t, 0), s.client(t, 0)
	first := lock(t, other.Mutex("dedicated"))
	m := client.Mutex("dedicated")
	m.Owner, m.TTL = "for ann", 3*time.Second
	got := make(chan *holdfast.Lease, 1)
	go func() {
		lease, err := m.Lock(bounded(t))
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- lease
	}()
	waiting(t, other, "dedicated", 1)
	release(t, first)
	lease := <-got
	if lease == nil {
		return
	}
	for end := time.Now().Add(3500 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := lease.Err(); err != nil {
			t.Fatalf("not renewed: %v", err)
		}
	}
	state, err := admin.Of(other).Inspect(bounded(t), "dedicated")
	if err != nil || state.Holder == nil || state.Holder.Owner != "for ann" || state.Holder.TTL != 3*time.Second {
		t.Errorf("Inspect: got %+v, %v, want the holder for ann with a ttl of 3s", state.Holder, err)
	}
	release(t, lease)
}
