//go:build unix

package databases_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/test/support/dbtest"
)

// The same orders at PostgreSQL's other isolation level, where the resource is new
// and where it is known: the stale one never commits after the newer one.
func TestFenceTableRepeatableRead(t *testing.T) {
	db := database{DB: dbtest.Postgres(t), fence: fence.Table("")}
	must(t, db, db.fence.Create())
	must(t, db, "CREATE TABLE account (id TEXT PRIMARY KEY, balance BIGINT, fence BIGINT)")
	both, refused := 0, 0
	for _, known := range []bool{false, true} {
		for _, order := range orders(3, 3) {
			id := fmt.Sprint(order, known)
			must(t, db, "INSERT INTO account VALUES ($1, 0, 0)", id)
			if known {
				must(t, db, "INSERT INTO fence VALUES ($1, 1)", id)
			}
			r := &race{t: t, db: db, id: id, isolation: sql.LevelRepeatableRead}
			commits, errs := r.run(order)
			if errs[2] != nil && !errors.Is(errs[2], holdfast.ErrStale) {
				closed := make(chan chan struct{})
				close(closed)
				errs[2] = r.transaction(2, closed)
				commits = r.commits
			}
			if errs[2] != nil {
				t.Errorf("%s: the newer transaction: got %v", id, errs[2])
			}
			if commits == "21" {
				t.Errorf("%s: the stale transaction committed after the newer one", id)
			}
			if got, want := balance(t, db, id), map[string]int64{"2": 2, "12": 12}[commits]; got != want {
				t.Errorf("%s: %d stands there, want %d after the commits %q", id, got, want, commits)
			}
			if errs[1] != nil {
				refused++
			}
			if commits == "12" {
				both++
			}
		}
	}
	if both == 0 || refused == 0 {
		t.Errorf("both committed %d times, the older was refused %d times: this proves nothing", both, refused)
	}
}
