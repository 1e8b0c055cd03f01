package dashboard_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// post sends a form as a browser does from a page of the same host.
func (b *board) post(path string, form url.Values, change func(*http.Request)) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url(path), strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	client := &http.Client{Transport: b.http.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	status, h, body := read(b.t, answer)
	return status, body + h.Get("Location")
}

var hidden = regexp.MustCompile(`name="tenure" value="([0-9a-f]+)"`)

// form is what the page's form sends when everything is filled in.
func (b *board) form(name string) url.Values {
	b.t.Helper()
	path := "/lock?name=" + url.QueryEscape(name)
	found := hidden.FindStringSubmatch(b.shows(path, "Revoke", `name="tenure"`))
	return url.Values{"name": {name}, "tenure": {found[1]}, "confirm": {name}, "reason": {"stuck since noon"}}
}

func lostBy(t *testing.T, lease *holdfast.Lease) *holdfast.LostError {
	t.Helper()
	select {
	case <-lease.Done():
	case <-time.After(patience):
		t.Fatal("the lease was not lost")
	}
	var lost *holdfast.LostError
	if !errors.As(lease.Err(), &lost) {
		t.Fatalf("the lease ended with %v", lease.Err())
	}
	return lost
}

// Who confirms with the name and gives a reason revokes the tenure that was shown, and
// its holder reads the reason.
func TestRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Authorize: dashboard.AllowAll, BasePath: "/d"})
		lease := b.hold("invoice:42 & co")
		status, to := b.post("/lock/revoke", b.form("invoice:42 & co"), nil)
		if status != http.StatusSeeOther || !strings.HasPrefix(to, "/d/lock?") {
			t.Fatalf("got %d to %s, want 303 to the lock's page", status, to)
		}
		if lost := lostBy(t, lease); lost.Cause != holdfast.Revoked || lost.Reason != "stuck since noon" {
			t.Errorf("lost: got %q with %q, want revoked with the reason", lost.Cause, lost.Reason)
		}
	})
}

// The same with Steal; the name is the next one's then.
func TestSteal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Authorize: dashboard.AllowAll})
		lease := b.hold("invoice:42")
		if status, to := b.post("/lock/steal", b.form("invoice:42"), nil); status != http.StatusSeeOther {
			t.Fatalf("got %d %s, want 303", status, to)
		}
		if lost := lostBy(t, lease); lost.Cause != holdfast.Stolen {
			t.Errorf("lost: got %q, want stolen", lost.Cause)
		}
	})
}

// Of a shared kind the page offers each holder, and ends the one that was chosen.
func TestOneOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Authorize: dashboard.AllowAll})
		client := newClient(t, b.store, "alice")
		pool, doc := client.Semaphore("pool", 3), client.RWMutex("doc")
		for name, c := range map[string]struct {
			lock  func() (*holdfast.Lease, error)
			verb  string
			cause holdfast.Cause
		}{
			"pool": {func() (*holdfast.Lease, error) { return pool.Acquire(t.Context(), 1) }, "revoke", holdfast.Revoked},
			"doc":  {func() (*holdfast.Lease, error) { return doc.RLock(t.Context()) }, "steal", holdfast.Stolen},
		} {
			leases := make(map[*holdfast.Lease]bool)
			for range 3 {
				lease, err := c.lock()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = lease.Release() }()
				leases[lease] = true
			}
			page := b.shows("/lock?name="+name, "Revoke", "Choose one")
			offered := regexp.MustCompile(`<option value="([0-9a-f]{10})"`).FindAllStringSubmatch(page, -1)
			if len(offered) != 6 {
				t.Fatalf("%s: %d holders are offered; want three, twice:\n%s", name, len(offered), page)
			}
			form := url.Values{"name": {name}, "tenure": {""}, "confirm": {name}, "reason": {"stuck since noon"}}
			if status, _ := b.post("/lock/"+c.verb, form, nil); status != http.StatusUnprocessableEntity {
				t.Errorf("%s without a holder: got %d, want 422", name, status)
			}
			chosen := offered[1][1]
			form.Set("tenure", chosen)
			form.Set("confirm", "another")
			if _, again := b.post("/lock/"+c.verb, form, nil); !regexp.MustCompile(`value="` + chosen + `"[^>]* selected`).MatchString(again) {
				t.Errorf("%s: what was chosen is not kept after a refusal:\n%s", name, again)
			}
			form.Set("confirm", name)
			if status, to := b.post("/lock/"+c.verb, form, nil); status != http.StatusSeeOther {
				t.Fatalf("%s: got %d %s, want 303", name, status, to)
			}
			left := 0
			for lease := range leases {
				err := lease.EnsureHeld(t.Context())
				if err == nil {
					left++
				} else if lost := lostBy(t, lease); lost.Cause != c.cause || lost.Reason != "stuck since noon" {
					t.Errorf("%s: got %q with %q, want %s with the reason", name, lost.Cause, lost.Reason, c.cause)
				}
			}
			if left != 2 {
				t.Errorf("%s: %d are still held, want 2", name, left)
			}
		}
	})
}

// Nothing is done for who may not, did not mean it, means another tenure, or comes from
// another site; and each is told why.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forbid := func(_ *http.Request, a dashboard.Action) error {
			if a.Verb == dashboard.Steal {
				return errors.New("only <operators> may steal")
			}
			return nil
		}
		b := open(t, &dashboard.Options{Authorize: forbid})
		lease := b.hold("invoice:42")
		good := b.form("invoice:42")
		with := func(key, value string) url.Values {
			form := url.Values{}
			for k, v := range good {
				form[k] = v
			}
			form.Set(key, value)
			return form
		}
		for _, c := range []struct {
			what, path string
			form       url.Values
			change     func(*http.Request)
			status     int
			want       string
		}{
			{"another name typed", "/lock/revoke", with("confirm", "invoice:4"), nil, 422, "is not the name"},
			{"no reason", "/lock/revoke", with("reason", "  "), nil, 422, "A reason is required"},
			{"another tenure", "/lock/revoke", with("tenure", "0123456789"), nil, 409, "not held by tenure"},
			{"no tenure", "/lock/revoke", with("tenure", "x"), nil, 422, "given by its hash"},
			{"not authorized", "/lock/steal", good, nil, 403, "only &lt;operators&gt; may steal"},
			{"another verb", "/lock/shout", good, nil, 404, "no such page"},
			{"another site", "/lock/revoke", good, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, ""},
			{"another host of the site", "/lock/revoke", good, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403, ""},
			{"another origin", "/lock/revoke", good, func(r *http.Request) {
				r.Header.Del("Sec-Fetch-Site")
				r.Header.Set("Origin", "https://elsewhere.example")
			}, 403, ""},
			{"no browser", "/lock/revoke", good, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, 403, "did not come from this page"},
		} {
			status, body := b.post(c.path, c.form, c.change)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%s: got %d and\n%s\nwant %d and %q", c.what, status, body, c.status, c.want)
			}
		}
		if err := lease.EnsureHeld(t.Context()); err != nil {
			t.Errorf("after refusals only: %v", err)
		}
		if status, _ := b.post("/lock/revoke", good, func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "http://"+r.Host)
		}); status != http.StatusSeeOther {
			t.Errorf("a browser that says its origin only: got %d, want 303", status)
		}
	})
}

// A read-only dashboard, and one where nobody said who may, offers no form and obeys
// none.
func TestReadOnly(t *testing.T) {
	for what, options := range map[string]*dashboard.Options{
		"read-only": {ReadOnly: true, Authorize: dashboard.AllowAll},
		"nobody":    {},
		"nil":       nil,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, options)
				lease := b.hold("invoice:42")
				body := b.shows("/lock?name=invoice:42", "Read-only", "holdfast revoke")
				if strings.Contains(body, "<form") {
					t.Error("there is a form")
				}
				s, err := b.names.Inspect(t.Context(), "invoice:42")
				if err != nil {
					t.Fatal(err)
				}
				form := url.Values{"name": {"invoice:42"}, "tenure": {s.Holder.Hash}, "confirm": {"invoice:42"}, "reason": {"x"}}
				if status, body := b.post("/lock/steal", form, nil); status != http.StatusForbidden {
					t.Errorf("steal: got %d %s, want 403", status, body)
				}
				if err := lease.EnsureHeld(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
