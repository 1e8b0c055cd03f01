package server_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
)

// tf is a request as Terraform's http backend sends it: the whole LockInfo, an MD5 of it, and its
// own methods.
func (w *web) tf(method, path, body string) reply {
	w.t.Helper()
	return w.ask(method, path, body, "Content-Type", "application/json", "Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")
}

func lockInfo(id, who string) string {
	return `{"ID":"` + id + `","Operation":"OperationTypeApply","Info":"","Who":"` + who + `","Version":"1.9.5","Created":"2026-11-21T20:15:30.123456789Z","Path":""}`
}

// Terraform's requests: LOCK, LOCK of another (423 with the holder's info), LOCK again after an
// answer was lost, UNLOCK, UNLOCK again; and with POST and DELETE as GitLab has it.
func TestTerraform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, methods := range [][2]string{{"LOCK", "UNLOCK"}, {"POST", "DELETE"}} {
			w := start(t, nil)
			const path, mine, other = "/v1/terraform/prod/network", "7c8a1f4e-2f0e-4c64-8d20-3a4e5b1c9d77", "99999999-2f0e-4c64-8d20-3a4e5b1c9d77"
			w.want("LOCK", w.tf(methods[0], path, lockInfo(mine, "ann@laptop")), http.StatusOK, "")
			w.want("LOCK again", w.tf(methods[0], path, lockInfo(mine, "ann@laptop")), http.StatusOK, "")
			held := w.want("LOCK of another", w.tf(methods[0], path, lockInfo(other, "bob@desk")), http.StatusLocked, "")
			if held.str("ID") != mine || held.str("Who") != "ann@laptop" || held.str("Created") == "" || held.str("Path") != "prod/network" {
				t.Errorf("423: %s", held.text)
			}
			w.want("UNLOCK of another", w.tf(methods[1], path, lockInfo(other, "bob@desk")), http.StatusLocked, "")
			w.want("UNLOCK", w.tf(methods[1], path, lockInfo(mine, "ann@laptop")), http.StatusOK, "")
			w.want("UNLOCK again", w.tf(methods[1], path, lockInfo(mine, "ann@laptop")), http.StatusOK, "")
			w.want("LOCK of another", w.tf(methods[0], path, lockInfo(other, "bob@desk")), http.StatusOK, "")
		}
	})
}

// What force-unlock sends: OpenTofu and newer Terraform the ID alone, older ones nothing at all, which
// only an admin may.
func TestTerraformForceUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, of := tokens(t)
		list, err := auth.OpenTokens(file, quietLog())
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, &server.Options{Tokens: list})
		w.token = of[auth.User]
		lock := func() {
			t.Helper()
			w.want("LOCK", w.tf("LOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusOK, "")
			if w.free("n") {
				t.Error("LOCK said 200, and nobody has it")
			}
		}
		lock()
		w.want("by another ID", w.tf("UNLOCK", "/v1/terraform/n", `{"ID":"id-2","Operation":"","Info":"","Who":"","Version":"","Created":"0001-01-01T00:00:00Z","Path":""}`), http.StatusLocked, "")
		w.want("by the ID", w.tf("UNLOCK", "/v1/terraform/n", `{"ID":"id-1","Operation":"","Info":"","Who":"","Version":"","Created":"0001-01-01T00:00:00Z","Path":""}`), http.StatusOK, "")
		lock()
		w.want("without one, as a user", w.tf("UNLOCK", "/v1/terraform/n", ""), http.StatusForbidden, "forbidden")
		w.token = of[auth.Admin]
		w.want("without one, as an admin", w.tf("UNLOCK", "/v1/terraform/n", ""), http.StatusOK, "")
		if !w.free("n") {
			t.Error("it is still locked")
		}
	})
}

// Every viewer can read the ID of a lock, so an unlock needs the token that locked, too. A lock
// that has no mark of a token is an admin's to end.
func TestTerraformOfAnotherToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := withTokens(t, &server.Options{})
		mine, other := of[0], of[1]
		w.want("LOCK", w.tf("LOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusOK, "")
		w.token = other
		w.want("UNLOCK with another token", w.tf("UNLOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusForbidden, "forbidden")
		w.token = mine
		w.want("LOCK again", w.tf("LOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusOK, "")
		w.want("UNLOCK", w.tf("UNLOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusOK, "")
		w.acquire(m{"name": "m", "owner": "terraform/id-2 ann"})
		w.want("UNLOCK without a mark", w.tf("UNLOCK", "/v1/terraform/m", lockInfo("id-2", "ann")), http.StatusForbidden, "forbidden")
	})
}

// The ttl of a lock of Terraform is at most that of a lease.
func TestTerraformTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{MaxTTL: 10 * time.Second})
		w.want("LOCK", w.tf("LOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusOK, "")
		time.Sleep(11 * time.Second)
		if !w.free("n") {
			t.Error("the lock has lasted longer than MaxTTL")
		}
		if _, err := server.Handler(w.client, &server.Options{MaxTTL: time.Hour, TerraformTTL: 2 * time.Hour}); err == nil {
			t.Error("a TerraformTTL above MaxTTL: want an error")
		}
	})
}

// IDs of any form, and holders that are not Terraform's.
func TestTerraformAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		for _, id := range []string{"ü | x", strings.Repeat("i", 200), "a b", "2026"} {
			w.want("LOCK", w.tf("LOCK", "/v1/terraform/n", lockInfo(id, "ann | bob")), http.StatusOK, "")
			w.want("LOCK again", w.tf("LOCK", "/v1/terraform/n", lockInfo(id, "ann | bob")), http.StatusOK, "")
			w.want("UNLOCK", w.tf("UNLOCK", "/v1/terraform/n", lockInfo(id, "ann | bob")), http.StatusOK, "")
		}
		got := w.acquire(m{"name": "n", "owner": "terraform/2026x"})
		held := w.want("LOCK", w.tf("LOCK", "/v1/terraform/n", lockInfo("2026", "ann")), http.StatusLocked, "")
		if held.str("ID") != "2026x" {
			t.Errorf("423: %s", held.text)
		}
		w.want("UNLOCK", w.tf("UNLOCK", "/v1/terraform/n", lockInfo("2026", "ann")), http.StatusLocked, "")
		w.want("it is held", w.ask("GET", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusOK, "")
		for _, wrong := range []string{"", "{}", "no JSON"} {
			w.want("LOCK", w.tf("LOCK", "/v1/terraform/m", wrong), http.StatusBadRequest, "bad-request")
		}
	})
}
