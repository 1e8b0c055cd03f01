package fence_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
)

// send makes a request of a handler's server.
func send(t *testing.T, server *httptest.Server, method, path string, tokens ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		r.Header.Add("Fence-Token", token)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// The answers of a Handler: what passes reaches Next, what does not is a problem,
// and changes nothing.
func TestHandler(t *testing.T) {
	written := 0
	handler := &fence.Handler{Gate: new(fence.Gate), Required: true,
		Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { written++ })}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, step := range []struct {
		about, method, path string
		tokens              []string
		want                int
	}{
		{"without a token", "PUT", "/a", nil, 428},
		{"reading without a token", "GET", "/a", nil, 200},
		{"the first token", "PUT", "/a", []string{"10"}, 200},
		{"an equal one", "PUT", "/a", []string{" 10 "}, 200},
		{"a lower one", "PUT", "/a", []string{"9"}, 412},
		{"a lower one of another resource", "PUT", "/b", []string{"9"}, 200},
		{"a higher one that only reads", "GET", "/a", []string{"11"}, 200},
		{"what was the highest until it read", "PUT", "/a", []string{"10"}, 412},
		{"no number", "PUT", "/a", []string{"twelve"}, 400},
		{"zero", "PUT", "/a", []string{"0"}, 400},
		{"beyond 64 bits", "PUT", "/a", []string{"9223372036854775808"}, 400},
		{"beyond what a lease can have", "PUT", "/a", []string{"9007199254740992"}, 400},
		{"two tokens", "PUT", "/a", []string{"12", "13"}, 400},
		{"an empty one", "PUT", "/a", []string{""}, 400},
	} {
		before := written
		answer := send(t, server, step.method, step.path, step.tokens...)
		if answer.StatusCode != step.want {
			t.Errorf("%s: got %d, want %d", step.about, answer.StatusCode, step.want)
		}
		if reached := written > before; reached != (step.want == 200) {
			t.Errorf("%s: reached Next: %v", step.about, reached)
		}
		if kind := answer.Header.Get("Content-Type"); step.want != 200 && kind != "application/problem+json" {
			t.Errorf("%s: got the type %q, want a problem", step.about, kind)
		}
	}
	handler.Required = false
	if answer := send(t, server, "PUT", "/a"); answer.StatusCode != 200 {
		t.Errorf("without a token where none is required: got %d, want 200", answer.StatusCode)
	}
}

// The problem says both tokens, to people and to Refused, which leaves other
// answers alone.
func TestRefused(t *testing.T) {
	gate := new(fence.Gate)
	server := httptest.NewServer(&fence.Handler{Gate: gate, Next: http.NotFoundHandler(),
		Resource: func(r *http.Request) string { return r.URL.Query().Get("id") }})
	defer server.Close()
	if err := gate.Advance("7", 20); err != nil {
		t.Fatal(err)
	}
	err := fence.Refused(send(t, server, "POST", "/x?id=7", "19"))
	stale(t, "Refused", err, 19, 20)
	if !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want an ErrLost, too: the lease is over", err)
	}
	var body map[string]any
	answer := send(t, server, "POST", "/y?id=7", "19")
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body["status"] != 412. || body["title"] != "Precondition Failed" || body["token"] != 19. || body["newest"] != 20. || body["detail"] == "" {
		t.Errorf("the problem: got %v, %v", body, err)
	}
	other := send(t, server, "POST", "/x?id=8", "19")
	if err := fence.Refused(other); err != nil || other.StatusCode != 404 {
		t.Errorf("another answer: got %v, %d, want nil and 404", err, other.StatusCode)
	}
	if text, _ := io.ReadAll(other.Body); len(text) == 0 {
		t.Error("Refused has read the body of another answer")
	}
}

// A write that is still under way when a newer token comes is waited for: it never
// lands after the newer one.
func TestHandlerWaits(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	var order []string
	gate := new(fence.Gate)
	server := httptest.NewServer(&fence.Handler{Gate: gate, Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Fence-Token")
		if token == "1" {
			close(began)
			<-goOn
		}
		order = append(order, token) // no mutex: the race detector would see two at once
	})})
	defer server.Close()
	done := make(chan struct{}, 2)
	put := func(token string) {
		r, _ := http.NewRequest("PUT", server.URL, nil)
		r.Header.Set("Fence-Token", token)
		if answer, err := server.Client().Do(r); err != nil || answer.StatusCode != 200 {
			t.Errorf("with token %s: got %v, %v", token, answer, err)
		} else {
			answer.Body.Close()
		}
		done <- struct{}{}
	}
	go put("1")
	<-began
	go put("2")
	for end := time.Now().Add(20 * time.Second); gate.Advance("/", 1) == nil; time.Sleep(time.Millisecond) { // until 2 was seen
		if time.Now().After(end) {
			t.Error("2 is not seen")
			break
		}
	}
	close(goOn)
	<-done
	<-done
	if len(order) != 2 || order[0] != "1" || order[1] != "2" {
		t.Errorf("got the order %q, want 1, 2", order)
	}
}
