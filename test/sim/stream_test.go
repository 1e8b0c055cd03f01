package sim_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/test/sim"
)

// ear is the client of a stream of holdfast/server.
type ear struct {
	header http.Header
	at     []time.Time // when it heard what
	heard  []string
}

func (e *ear) Header() http.Header              { return e.header }
func (e *ear) WriteHeader(int)                  {}
func (e *ear) Flush()                           {}
func (e *ear) SetWriteDeadline(time.Time) error { return nil }
func (e *ear) SetReadDeadline(time.Time) error  { return nil }

func (e *ear) Write(text []byte) (int, error) {
	e.at, e.heard = append(e.at, time.Now()), append(e.heard, string(text))
	return len(text), nil
}

// kinds are those of the events, each once, in the order of the first.
func (e *ear) kinds() (kinds []string) {
	for _, text := range e.heard {
		if kind, event := strings.CutPrefix(text, "event: "); event {
			kind, _, _ = strings.Cut(kind, "\n")
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// silence is the longest until now, and what was heard before it.
func (e *ear) silence() (longest time.Duration, after string) {
	for i, text := range e.heard {
		next := time.Now()
		if i+1 < len(e.at) {
			next = e.at[i+1]
		}
		if d := next.Sub(e.at[i]); d > longest {
			longest, after = d, text
		}
	}
	return longest, after
}

// listening listens to a stream of the name for ten minutes; then is done in the third.
func listening(t *testing.T, wish string, then func(*holdfast.Client) error, check func(*ear)) {
	w := sim.NewWorld(1)
	defer w.Close()
	client := w.Process("api", holdfast.Options{}, 1).Client
	if strings.Contains(wish, `"wait"`) {
		if _, err := w.Process("other", holdfast.Options{}, 1).Client.Mutex("n").TryLock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	api, err := server.Handler(client, &server.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/leases/stream", strings.NewReader(wish))
	r.Header.Set("Content-Type", "application/json")
	e, done := &ear{header: http.Header{}}, make(chan struct{})
	go func() {
		defer close(done)
		api.ServeHTTP(e, r)
	}()
	time.Sleep(150 * time.Second)
	if then != nil {
		if err := then(client); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(450 * time.Second)
	synctest.Wait()
	check(e)
	cancel()
	<-done
	if err := api.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A stream is never silent for longer than the ten seconds of docs/http.md, from its first
// event on, whatever the ttl; and what renewals say is not said twice.
func TestStreamIsNeverSilent(t *testing.T) {
	revoke := func(client *holdfast.Client) error {
		state, err := admin.Of(client).Inspect(context.Background(), "n")
		if err != nil {
			return err
		}
		_, err = admin.Of(client).Revoke(context.Background(), "n", state.Holder.Hash, "drained")
		return err
	}
	for _, scene := range []struct {
		wish  string
		then  func(*holdfast.Client) error
		kinds string
		most  int // lines in ten minutes
	}{
		{`{"name": "n", "ttl": "1s"}`, nil, "granted renewed", 2400},
		{`{"name": "n", "ttl": "5s"}`, nil, "granted renewed", 480},
		{`{"name": "n", "ttl": "30s"}`, nil, "granted renewed", 80},
		{`{"name": "n", "ttl": "57s"}`, nil, "granted renewed", 100},
		{`{"name": "n", "ttl": "1m"}`, nil, "granted renewed", 100},
		{`{"name": "n", "ttl": "20m"}`, nil, "granted renewed", 65},
		{`{"name": "n", "wait": "1h"}`, nil, "waiting", 63},
		{`{"name": "n", "ttl": "1h"}`, revoke, "granted revoke-requested", 65},
		{`{"name": "n", "ttl": "12m"}`, revoke, "granted revoke-requested", 65},
	} {
		synctest.Test(t, func(t *testing.T) {
			listening(t, scene.wish, scene.then, func(e *ear) {
				if d, after := e.silence(); d > 10*time.Second {
					t.Errorf("%s: %v of silence after %q, want 10s at most", scene.wish, d, after)
				}
				if got := strings.Join(e.kinds(), " "); got != scene.kinds || len(e.heard) > scene.most {
					t.Errorf("%s: heard %d lines of %s, want at most %d of %s", scene.wish, len(e.heard), got, scene.most, scene.kinds)
				}
			})
		})
	}
}
