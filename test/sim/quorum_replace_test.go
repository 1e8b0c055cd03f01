package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
)

// A replacement of which too few old members hear changes nothing that votes, and can be
// repeated.
func TestQuorumReplaceNeedsAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 7, 4)
		defer r.close()
		old := r.init(0, 1, 2)
		from, to := r.members(0, 1, 2), r.members(0, 1, 3)
		from[0].Store, from[1].Store = nil, nil
		if _, err := quorum.Replace(t.Context(), from, to); err == nil {
			t.Error("with one old member of three: got no error")
		}
		p := r.join(old, 5*time.Second, 1, 0, 1, 2)
		_ = p.release(p.must(t, "n")) // by the two others
		if _, err := quorum.Replace(t.Context(), r.members(0, 1, 2), to); err != nil {
			t.Errorf("with all: %v", err)
		}
	})
}

// Every old member hears of a replacement, or somebody vouches that it is gone: one that
// comes back, and one more that has lost what it heard, would else be the old quorum.
func TestQuorumReplaceTellsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 7, 4)
		defer r.close()
		old := r.init(0, 1, 2)
		from, to := r.members(0, 1, 2), r.members(0, 1, 3)
		reached := from[2].Store
		from[2].Store = nil
		_, err := quorum.Replace(t.Context(), from, to)
		if err == nil || !strings.Contains(err.Error(), "old member node2 does not answer") {
			t.Errorf("an old member that leaves can't be reached: got %v, want an error that names it", err)
		}
		p := r.join(old, 5*time.Second, 1, 0, 1, 2)
		_ = p.release(p.must(t, "n")) // nothing was done
		from[2].Store = &onceSpoken{Store: reached}
		if _, err := quorum.Replace(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "old member node2 does not answer") {
			t.Errorf("it can't be reached any more: got %v, want an error that names it", err)
		}
		next, err := quorum.Replace(t.Context(), from, to, "node2")
		if err != nil {
			t.Fatalf("with one that is gone for good: %v", err)
		}
		q := r.join(next, 5*time.Second, 1, 0, 1, 3)
		r.sleep(61 * time.Second)
		_ = q.release(q.must(t, "n"))
	})
}

// onceSpoken is a node that can be reached once.
type onceSpoken struct {
	driver.Store
	spoke bool
}

func (o *onceSpoken) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if o.spoke {
		return nil, errors.New("connection refused")
	}
	o.spoke = true
	return o.Store.Eval(ctx, call)
}
