package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// FamilyPairs are all that a run of the family has rows of, as workload and who.
func FamilyPairs(etcd bool) [][2]string {
	var all [][2]string
	for _, w := range family {
		for _, c := range takePart(w) {
			if c.who != "etcd" || etcd {
				all = append(all, [2]string{w.name, c.who})
			}
		}
	}
	return all
}

// FamilyBulk are the names of those that have no rows.
func FamilyBulk() []string {
	var all []string
	for _, w := range familyBulk {
		all = append(all, w.name)
	}
	return all
}

// FamilySends is what a contender's client sends in a workload; nil: it is not
// counted.
func FamilySends(workload, who string) []string {
	w, _ := workloadNamed(workload)
	c, _ := contenderOf(w, who)
	return c.sends
}

// With is an earlier report with what a later one measured.
func With(earlier, later *Report) *Report { return earlier.with(later) }

// ContendIn opens a contender twice, and lets both lock as in this workload a few
// times, by turns if they share a name.
func ContendIn(t *testing.T, server *redistest.Server, workload, who string) {
	t.Helper()
	w, _ := workloadNamed(workload)
	c, ok := contenderOf(w, who)
	if !ok {
		t.Fatalf("no contender %q in %s", who, workload)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i := range 2 {
		s, err := c.open(setup{Addr: server.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		m, err := s.mutex(0, fmt.Sprintf("bench:sends:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if s, ok := m.(sharer); ok {
				s.ask(w.part(k))
			}
			if err := m.lock(ctx); err != nil {
				t.Fatal(err)
			}
			if err := m.unlock(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
